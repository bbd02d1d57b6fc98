"""Environment x Scenario -> a run that is ready to start, whoever observes it."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from waitbench import engines
from waitbench.execution import assets
from waitbench.execution.services import URL_VARIABLE, Running, running
from waitbench.model.environment import Environment
from waitbench.model.instruments import Instruments
from waitbench.model.scenario import CAPABILITIES, Scenario, Topology
from waitbench.system.places import DATAFLOWS, Cache
from waitbench.system.processes import Finished, run

PROBE_DIRECTORY = "BENCH_PROBE_DIR"
"""The environment variable that tells a workload where to report: dataflows/support/probe.py."""
TRACEPOINT = "BENCH_SYSTEM_CALLS_TRACEPOINT"
"""The environment variable that tells a workload what to count system calls by."""
CLOCK_SAMPLER = "BENCH_CLOCK_SAMPLER_NS"
"""The environment variable that has our launcher sample the clock, with the period as its value."""
_PERIOD_OF_ONE_NS, _PERIOD_OF_MORE_NS = 97_003, 499_021
"""Time on a CPU between two samples: primes, so that no regular work keeps in step with them.

Setting the sampler's timer costs kernel time at each switch, the more often the shorter its period
is against the worker's own. A single process switches seldom, and has few samples; processes that
talk to each other switch often, and have samples enough."""

_LAUNCH = DATAFLOWS / "support" / "launch.py"
_NOT_INHERITED = ("PYTHON", "BENCH_", "VIRTUAL_ENV", "RUST_LOG", "RUST_BACKTRACE")
"""Beginnings of names of variables that would make revisions behave differently."""


@dataclass(frozen=True, kw_only=True)
class ReadyRun:
    """A run of one scenario on one environment. Its services are up; nothing else has started."""

    folder: Path
    """Its own, gone when it is over."""
    command: tuple[str, ...]
    """Our launcher, which starts the engine's processes."""
    variables: Mapping[str, str]
    time_limit_s: float
    services: Running | None
    watch: Callable[[int], None]

    @property
    def launched_file(self) -> Path:
        """Where our launcher reports, as JSON."""
        return self.folder / "launched.json"

    @property
    def probes(self) -> Path:
        """Where each worker reports, as JSON."""
        return self.folder / "probes"

    def carry_out(
        self,
        command: Sequence[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        on_start: Callable[[int], None] = lambda _group: None,
    ) -> Finished:
        """Runs ``command`` (its own, or one around it) to its end or its time limit."""

        def started(group: int) -> None:
            self.watch(group)
            on_start(group)

        return run(
            command,
            stdout=stdout,
            stderr=stderr,
            time_limit_s=self.time_limit_s,
            env=self.variables,
            cwd=self.folder,
            on_start=started,
        )


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where runs are made: the environments, and how their processes are started."""

    environments: Mapping[str, Environment]
    """By label."""
    topology: Topology
    cache: Cache
    watch: Callable[[int], None]
    """Told the process group in flight, and 0 when it is over."""
    time_limit_s: float | None = None
    """Instead of the scenario's own."""
    services_python: Path | None = None
    """What runs the services, where a scenario needs any."""
    instruments: Instruments = field(default_factory=Instruments)
    """What observes instrumented runs."""

    def what_is_missing(self, scenario: Scenario, label: str) -> str | None:
        """Why a revision cannot run a scenario, to end a sentence; ``None`` if it can."""
        missing = sorted(scenario.needs - self.environments[label].facts.capabilities)
        if not missing:
            return None
        return f"it cannot {' or '.join(CAPABILITIES[name] for name in missing)}"

    @contextmanager
    def prepare(
        self, scenario: Scenario, label: str, *, instrumented: bool = False
    ) -> Iterator[ReadyRun]:
        """Makes a run ready, cleans up behind it. Raises ``HarnessError`` if a service fails."""
        folder = self.cache.folder("runs") / str(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "probes").mkdir(parents=True)
        try:
            with self._services(scenario, folder) as services:
                yield ReadyRun(
                    folder=folder,
                    command=self._command(scenario, self.environments[label], folder),
                    variables=self._variables(folder, self.environments[label], services)
                    | (self._instruments() if instrumented else {}),
                    time_limit_s=self.time_limit_s or scenario.time_limit_s,
                    services=services,
                    watch=self.watch,
                )
        finally:
            self.watch(0)
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _services(self, scenario: Scenario, logs: Path) -> Iterator[Running | None]:
        if scenario.family.services is None:
            yield None
            return
        assert self.services_python is not None, "prepared for scenarios with services"
        plan = scenario.family.services(scenario.parameters)
        with running(self.services_python, plan, logs) as up:
            yield up

    def _command(
        self, scenario: Scenario, environment: Environment, folder: Path
    ) -> tuple[str, ...]:
        start = engines.named(environment.engine).start(environment, scenario, self.topology)
        launcher = (str(environment.python), "-I", "-S", str(_LAUNCH))
        return (*launcher, str(folder / "launched.json"), str(start.processes), *start.arguments)

    def _variables(
        self, folder: Path, environment: Environment, services: Running | None
    ) -> dict[str, str]:
        dropped = (*_NOT_INHERITED, *engines.named(environment.engine).not_inherited)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        return {
            **kept,
            PROBE_DIRECTORY: str(folder / "probes"),
            assets.FOLDER_VARIABLE: str(assets.folder(self.cache)),
            URL_VARIABLE: services.url if services else "",
            # So that a user's dataflow can import our support code; our own find it beside them.
            "PYTHONPATH": str(DATAFLOWS),
            # One seed for str hashes: no run's dictionaries differ from another's by chance.
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.cache.folder("pycache")),
        }

    def _instruments(self) -> dict[str, str]:
        """The variables that switch on what observes a run."""
        variables = {}
        if self.instruments.tracepoint is not None:
            variables[TRACEPOINT] = str(self.instruments.tracepoint)
        if self.instruments.sampler:
            alone = self.topology.processes == 1
            variables[CLOCK_SAMPLER] = str(_PERIOD_OF_ONE_NS if alone else _PERIOD_OF_MORE_NS)
        return variables
