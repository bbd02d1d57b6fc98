"""The scenarios of a worker file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from msgspec.structs import force_setattr

from waitbench.engines.worker import metrics
from waitbench.engines.worker.file import PHASE
from waitbench.model.scenario import RATE, Scenario
from waitbench.model.worker import Phase, Values, WorkerFile, stopped_after
from waitbench.system import tcp

WINDOW = "window"
WINDOW_S = 10.0
"""The default window."""
_WARM_UP_S = 1.0
_EXPECTED_S, _MAX_S = 30.0, 600.0
"""The expected time, and the time limit, of a command that ends by itself."""
_ACTION_S = 30.0
"""The time limit of a phase's action; the start of a service has its own."""


class WorkerScenario(Scenario, frozen=True, kw_only=True):
    """A worker that starts, waits, is poked and stopped, or a command that ends by itself."""

    worker: WorkerFile
    is_staggered: ClassVar[bool] = True
    most_concurrent_rounds: ClassVar[int] = 48

    @property
    def settable(self) -> tuple[str, ...]:
        rate = (RATE,) if RATE in self.parameters else ()
        return (*(() if self.works else (WINDOW,)), *rate, *self.worker.parameters)

    def __post_init__(self) -> None:
        force_setattr(self, "works", self.worker.ends_by_itself)
        force_setattr(self, "waits", not self.works)
        force_setattr(self, "metrics", metrics.metrics_of(self.worker, self._absent))

    @property
    def phases(self) -> Sequence[Phase]:
        return self.worker.phases_until(self.parameters.get(PHASE))

    @property
    def is_mostly_idle(self) -> bool:
        # With messages in the window, the programs that send them would compete for CPUs.
        return self.worker.side_by_side and not self.works and RATE not in self.parameters

    @property
    def services(self) -> int:
        return len(self.worker.services)

    @property
    def lacks(self) -> Mapping[str, str]:
        return {} if self.works else self._absent

    @property
    def _absent(self) -> Mapping[str, str]:
        """The metrics that its runs lack, by key, each with a remedy or a reason."""
        worker, stopped, absent = self.worker, stopped_after(self.phases), dict[str, str]()
        if worker.ready.seconds is not None:
            absent["time_startup"] = "`ready` in its file is a number of seconds"
        if not worker.poke or stopped:
            remedy = "a service is stopped" if worker.poke else "[poke] in its file says how"
            absent |= dict.fromkeys(metrics.LATENESS, remedy)
        running = [file for name, file in worker.services.items() if name not in stopped]
        are_counted = tcp.is_traffic_counted() or all(file.counters for file in running)
        if worker.services and not (running and are_counted):
            remedy = "`counters` of the service says how" if running else "the service is stopped"
            absent |= dict.fromkeys(metrics.REQUESTS, remedy)
        if self.must_end:
            how = f"the worker must end in its phase {self.phases[-1].name}"
            absent |= dict.fromkeys((*metrics.LATENESS, *metrics.OF_LIVING), how)
        return absent

    @property
    def must_end(self) -> bool:
        return any(phase.must_end for phase in self.phases)

    @property
    def expected_s(self) -> float:
        return (self.window_s or _EXPECTED_S) + self._outside_window_s

    @property
    def time_limit_s(self) -> float:
        worker = self.worker
        limits_s = [worker.ready.within, worker.settled.within, worker.stop_within_s]
        pokes = 1 + sum(phase.poke is not None for phase in self.phases)
        limits_s += [pokes * worker.poke.done.within] if worker.poke else []
        for phase in self.phases:
            settles_s = worker.settled.within if phase.seconds is None else phase.seconds
            starts = worker.services[phase.start].ready if phase.start else None
            starts_s = (starts.seconds or starts.within) if starts else 0.0
            limits_s.append(_ACTION_S + starts_s + settles_s)
        # Messages that are handled late prolong a window.
        window_s = (self.window_s or _MAX_S) * (10 if RATE in self.parameters else 1)
        return 30 + window_s + self._outside_window_s + sum(limits_s)

    @property
    def window_s(self) -> float:
        return float(self.parameters.get(WINDOW, 0.0))

    def for_warm_up(self) -> Scenario:
        return self._with_window(min(self.window_s, _WARM_UP_S))

    def with_least_window(self, seconds: float) -> Scenario:
        return self._with_window(max(self.window_s, seconds))

    def _with_window(self, seconds: float) -> Scenario:
        is_fixed = self.works or self.must_end
        return self if is_fixed else self.with_parameters({WINDOW: seconds})

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        return metrics.read_written(paths, self.worker.metrics) if self.worker.metrics else {}

    @property
    def _outside_window_s(self) -> float:
        """An estimate of start-up and shutdown, which are unknown before a run."""
        settles_s = self.worker.settled.seconds or 1.0
        phases_s = (settles_s if phase.seconds is None else phase.seconds for phase in self.phases)
        services_s = sum(file.ready.seconds or 0.0 for file in self.worker.services.values())
        return services_s + (self.worker.ready.seconds or 0.0) + settles_s + sum(phases_s) + 2.5


def scenarios_of(worker: WorkerFile) -> tuple[WorkerScenario, ...]:
    """Makes a scenario for each ``[scenarios.NAME]``, or: idle, at ``poke.rate``, each phase."""
    named = {f"{worker.name}-{name}": values for name, values in worker.scenarios.items()}
    phases: dict[str, Values] = {
        f"{worker.name}-{phase.name}": {
            PHASE: phase.name,
            **({WINDOW: phase.window_s} if phase.window_s else {}),
        }
        for phase in worker.phases
    }
    rate = worker.poke.rate if worker.poke else None
    at_rate: dict[str, Values] = {f"{worker.name}-at-rate": {RATE: rate}} if rate else {}
    identity = {"file": worker.path.name, "sha256": worker.sha256}
    window = {} if worker.ends_by_itself else {WINDOW: worker.window_s or WINDOW_S}
    return tuple(
        WorkerScenario(
            name=name,
            worker=worker,
            parameters={**identity, **window, **worker.parameters, **values},
        )
        for name, values in (named or {worker.name: {}, **at_rate, **phases}).items()
    )
