"""Prepares runs: an environment and a scenario give a run that is ready to start."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.engines.base import Engine
from waitbench.execution.identity import modules_of
from waitbench.execution.launch_report import OUTPUT, PROBES, REPORT, REPORTS
from waitbench.execution.services import LAUNCHER, Running, running
from waitbench.model.launch import ALONE, BatchSlot, LaunchConfig, WorkerConfig, encode
from waitbench.model.metrics import Instruments
from waitbench.model.revision import Environment
from waitbench.model.scenario import CAPABILITIES, Scenario, Topology
from waitbench.system import locks, variables
from waitbench.system.paths import DATAFLOWS, Cache
from waitbench.system.processes import Finished, run, tree_and_orphans


@dataclass(frozen=True, kw_only=True)
class ReadyRun:
    """A run whose services are up; nothing else has started."""

    folder: Path
    launcher: tuple[str, ...]
    variables: Mapping[str, str]
    time_limit_s: float
    services: Running
    config: LaunchConfig

    def carry_out(
        self, command: Sequence[str], on_start: Callable[[int], None] = lambda _group: None
    ) -> Finished:
        """Runs ``command``, its own or a wrapper around it, to its end or its time limit."""
        stdout, stderr = (self.folder / name for name in OUTPUT)
        # Exclusive: a service of the run may have put a link or a pipe there.
        with stdout.open("xb") as out, stderr.open("xb") as err:
            return run(
                command,
                stdout=out,
                stderr=err,
                time_limit_s=self.time_limit_s,
                env=self.variables,
                cwd=self.folder,
                on_start=on_start,
                find_left=tree_and_orphans(),
                limits_output=True,
            )


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The environments, and how runs of them are started."""

    engine: Engine
    environments: Mapping[str, Environment]
    topology: Topology
    cache: Cache
    time_limit_s: float | None = None
    instruments: Instruments = field(default_factory=Instruments)
    wakes_up: bool = True
    """Whether workers of worker files are poked after their window."""

    def what_is_missing(self, scenario: Scenario, label: str) -> str | None:
        """Says why a revision cannot run a scenario, to end a sentence; ``None`` if it can."""
        kind = scenario.topology_in(self.topology).kind
        if kind not in self.engine.topologies:
            return f"it cannot be started as a {kind}"
        environment = self.environments[label]
        missing = sorted({*scenario.needs} - environment.build.capabilities)
        if missing:
            return f"it cannot {' or '.join(CAPABILITIES[name] for name in missing)}"
        return None

    @contextmanager
    def prepare(
        self,
        scenario: Scenario,
        label: str,
        slot: BatchSlot = ALONE,
        *,
        identifies: bool = False,
    ) -> Iterator[ReadyRun]:
        """Starts a run's services and cleans up after it. Raises ``HarnessError`` if one fails."""
        with locks.own_folder(self.cache.folder("runs")) as folder:
            (folder / REPORTS).mkdir()
            environment = self.environments[label]
            services_needed = self.engine.services(environment, scenario)
            with running(services_needed, folder, self.cache) as services:
                topology = scenario.topology_in(self.topology)
                program = self.engine.program(environment, scenario, topology)
                is_identified = identifies and isinstance(program, WorkerConfig)
                config = LaunchConfig(
                    program=program,
                    tracepoint=self.instruments.tracepoint,
                    services=services.described(),
                    slot=slot,
                    modules=modules_of(self.engine, environment) if is_identified else None,
                    pokes=self.wakes_up,
                )
                limit_s = self.time_limit_s or scenario.time_limit_s
                yield ReadyRun(
                    folder=folder,
                    launcher=(*LAUNCHER, str(folder / REPORT), encode(config)),
                    variables={
                        **self._variables(folder, scenario),
                        **self.engine.variables(environment),
                    },
                    time_limit_s=limit_s * slot.size,  # runs of a batch take turns
                    services=services,
                    config=config,
                )

    def _variables(self, folder: Path, scenario: Scenario) -> dict[str, str]:
        # A dataflow imports our support code. A worker file's command must not: a module of its own
        # might have the same name.
        python_path = {"PYTHONPATH": str(DATAFLOWS)} if scenario.has_probe else {}
        return {
            **variables.of_workload(),
            PROBES: str(folder / REPORTS),
            **python_path,
            # One seed for str hashes, so that dictionaries do not differ between runs by chance.
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.cache.folder("pycache")),
        }
