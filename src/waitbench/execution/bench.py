"""Environment x Scenario -> a run that is ready to start, whoever observes it."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from waitbench.engines.base import Engine
from waitbench.execution.batch import ALONE, Place
from waitbench.execution.identity import modules_of
from waitbench.execution.launch_report import PROBES, REPORT, REPORTS
from waitbench.execution.services import Running, running
from waitbench.model.environment import Environment
from waitbench.model.metrics import Instruments
from waitbench.model.scenario import CAPABILITIES, Scenario, Topology
from waitbench.system import locks, variables
from waitbench.system.places import DATAFLOWS, Cache
from waitbench.system.processes import Finished, run_alone

_LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True, kw_only=True)
class ReadyRun:
    """A run of one scenario on one environment. Its services are up; nothing else has started."""

    folder: Path
    """Its own, gone when it is over."""
    working_folder: Path
    """Where it runs."""
    command: tuple[str, ...]
    """Our launcher, which starts the engine's processes."""
    variables: Mapping[str, str]
    time_limit_s: float
    services: Running
    told: Mapping[str, Any]
    """What the launcher is told of its processes."""
    modules: Sequence[str] | None
    """What it is to tell of what it loads: see ``identity.modules_of``."""

    def carry_out(
        self,
        command: Sequence[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        on_start: Callable[[int], None] = lambda _group: None,
    ) -> Finished:
        """Runs ``command`` (its own, or one around it) to its end or its time limit."""
        return run_alone(
            command,
            stdout=stdout,
            stderr=stderr,
            time_limit_s=self.time_limit_s,
            env=self.variables,
            cwd=self.working_folder,
            on_start=on_start,
        )


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where runs are made: the environments, and how their processes are started."""

    engine: Engine
    environments: Mapping[str, Environment]
    """By label."""
    topology: Topology
    cache: Cache
    time_limit_s: float | None = None
    """Instead of the scenario's own."""
    instruments: Instruments = field(default_factory=Instruments)
    """What its runs are counted by."""
    wakes_up: bool = True
    """Whether workers that are commands are poked after their window."""

    def what_is_missing(self, scenario: Scenario, label: str) -> str | None:
        """Why a revision cannot run a scenario, to end a sentence; ``None`` if it can."""
        kind = scenario.started_as(self.topology).kind
        if kind not in self.engine.topologies:
            return f"it cannot be started as a {kind}"
        environment = self.environments[label]
        missing = sorted({*scenario.needs} - environment.facts.capabilities)
        if missing:
            return f"it cannot {' or '.join(CAPABILITIES[name] for name in missing)}"
        return None

    @contextmanager
    def prepare(
        self, scenario: Scenario, label: str, place: Place = ALONE, *, tells: bool = False
    ) -> Iterator[ReadyRun]:
        """Makes a run ready, cleans up behind it. Raises ``HarnessError`` if a service fails.

        It may take as long as all of its batch. If it ``tells``, it is known afterwards what a
        worker that is a command has loaded.
        """
        with locks.own_folder(self.cache.folder("runs")) as folder:
            (folder / REPORTS).mkdir()
            environment = self.environments[label]
            wanted = self.engine.services(environment, scenario)
            with running(wanted, folder, self.cache) as services:
                start = self.engine.start(environment, scenario, scenario.started_as(self.topology))
                is_asked = tells and scenario.is_command
                modules = modules_of(self.engine, environment) if is_asked else None
                told = {
                    "modules": modules,
                    "tracepoint": self.instruments.tracepoint,
                    "running": services.described(),
                    "place": vars(place),
                    "wakes_up": self.wakes_up,
                    **start.told,
                }
                limit_s = self.time_limit_s or scenario.time_limit_s
                report = str(folder / REPORT)
                yield ReadyRun(
                    folder=folder,
                    # Where the user's own files are, if the dataflow names any.
                    working_folder=folder if scenario.is_own else Path.cwd(),
                    command=(sys.executable, "-I", "-S", str(_LAUNCH), report, json.dumps(told)),
                    variables=self._variables(folder, scenario) | dict(start.variables),
                    time_limit_s=limit_s * place.count,
                    services=services,
                    told=start.told,
                    modules=modules,
                )

    def _variables(self, folder: Path, scenario: Scenario) -> dict[str, str]:
        # A user's dataflow may import our support code; our own find it beside them. A worker that
        # is a command gets no PYTHONPATH of ours: it might import what lies there.
        ours = {"PYTHONPATH": str(DATAFLOWS)} if scenario.is_observed else {}
        return {
            **variables.of_workload(),
            PROBES: str(folder / REPORTS),
            **ours,
            # One seed for str hashes: no run's dictionaries differ from another's by chance.
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.cache.folder("pycache")),
        }
