"""A worker file -> its scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.engines.worker import metrics, written
from waitbench.engines.worker.file import PHASE
from waitbench.model.metrics import Metric
from waitbench.model.scenario import Scenario
from waitbench.model.worker import Phase, Values, WorkerFile, stopped_after
from waitbench.system import connections

WINDOW = "window"
WINDOW_S = 10.0
"""How long a worker is watched where neither its file nor a gate says it."""
_WARM_UP_S = 2.0
_USUAL_S, _MOST_S = 30.0, 600.0
"""How long what ends by itself usually takes, for the time left, and may take."""
_ACTION_S = 30.0
"""How long what a phase begins with may take, but for a service or a worker to be ready."""


@dataclass(frozen=True, kw_only=True)
class WorkerScenario(Scenario):
    """A worker that is started, waits, is woken up, and ends; or that ends by itself."""

    worker: WorkerFile
    is_command: bool = True
    is_observed: bool = False

    @property
    def settable(self) -> tuple[str, ...]:
        return (*(() if self.works else (WINDOW,)), *self.worker.parameters)

    @property
    def waits(self) -> bool:
        return not self.works

    @property
    def works(self) -> bool:
        return self.worker.ends_by_itself

    @property
    def phases(self) -> Sequence[Phase]:
        """What happens before the window."""
        return self.worker.phases_until(self.parameters.get(PHASE))

    @property
    def idles(self) -> bool:
        return self.worker.side_by_side and not self.works

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return metrics.metrics_of(self.worker, self._absent)

    @property
    def lacks(self) -> Mapping[str, str]:
        return {} if self.works else self._absent

    @property
    def _absent(self) -> Mapping[str, str]:
        """Keys of metrics that its runs do not give, and what would mend that."""
        worker, stopped, absent = self.worker, stopped_after(self.phases), dict[str, str]()
        if worker.ready.seconds is not None:
            absent[metrics.START_UP] = "`ready` in its file is a number of seconds"
        if not worker.poke or stopped:
            how = "a service is stopped" if worker.poke else "[poke] in its file says how"
            absent |= dict.fromkeys(metrics.LATENESS, how)
        running = [file for name, file in worker.services.items() if name not in stopped]
        are_counted = connections.are_counted() or all(file.counters for file in running)
        if worker.services and not (running and are_counted):
            how = "`counters` of the service says how" if running else "the service is stopped"
            absent |= dict.fromkeys(metrics.REQUESTS, how)
        return absent

    @property
    def expected_s(self) -> float:
        return self._window_s(_USUAL_S) + self._others_s

    @property
    def time_limit_s(self) -> float:
        """As long as each step of it may take."""
        worker = self.worker
        steps = [worker.ready.within, worker.settled.within, worker.stop_within_s]
        pokes = 1 + sum(phase.poke is not None for phase in self.phases)
        steps += [pokes * worker.poke.done.within] if worker.poke else []
        for phase in self.phases:
            settles_s = worker.settled.within if phase.seconds is None else phase.seconds
            starts_s = worker.services[phase.start].ready.longest_s if phase.start else 0.0
            steps.append(_ACTION_S + starts_s + settles_s)
        return 30 + self._window_s(_MOST_S) + self._others_s + sum(steps)

    @property
    def has_window(self) -> bool:
        return self.works or WINDOW in self.parameters

    def shortened(self) -> WorkerScenario:
        if self.works or self.worker.window_s is not None:
            return self
        found = {name: value for name, value in self.parameters.items() if name != WINDOW}
        return replace(self, parameters=found)

    def warmed_up(self) -> WorkerScenario:
        return self.watched_for(min(self._window_s(), _WARM_UP_S))

    def lasting(self, seconds: float) -> WorkerScenario:
        return self.watched_for(max(self._window_s(), seconds))

    def watched_for(self, seconds: float) -> WorkerScenario:
        watched = {**self.parameters, WINDOW: seconds}
        return self if self.works else replace(self, parameters=watched)

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        return written.read(paths, self.worker.metrics) if self.worker.metrics else {}

    def _window_s(self, until_exit_s: float = 0.0) -> float:
        return until_exit_s if self.works else float(self.parameters.get(WINDOW, WINDOW_S))

    @property
    def _others_s(self) -> float:
        """How long it may take to start and to end, which nobody knows before."""
        starts_s, settles_s = self.worker.ready.seconds or 0.0, self.worker.settled.seconds or 1.0
        of_phases = (settles_s if one.seconds is None else one.seconds for one in self.phases)
        services_s = sum(one.ready.seconds or 0.0 for one in self.worker.services.values())
        poke_s = 1.0 if self.worker.poke else 0.0
        return services_s + starts_s + settles_s + sum(of_phases) + poke_s + 1.5


def scenarios_of(worker: WorkerFile) -> tuple[WorkerScenario, ...]:
    """Each scenario of a worker, or the one with the defaults of its parameters and its phases."""
    named = {f"{worker.name}-{name}": values for name, values in worker.scenarios.items()}
    phases: dict[str, Values] = {
        f"{worker.name}-{one.name}": {PHASE: one.name} for one in worker.phases
    }
    doing = "until it ends" if worker.ends_by_itself else "while it waits"
    window = {} if worker.ends_by_itself else {WINDOW: worker.window_s or WINDOW_S}
    return tuple(
        WorkerScenario(
            name=name,
            purpose=f"the worker of {worker.path.name}, {doing}",
            worker=worker,
            parameters={
                "file": worker.path.name,
                "sha256": worker.sha256,
                **window,
                **worker.parameters,
                **values,
            },
        )
        for name, values in (named or {worker.name: {}, **phases}).items()
    )
