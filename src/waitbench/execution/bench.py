"""Prepares runs: starts their services, and makes their commands and environment variables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from waitbench.engines.base import Engine
from waitbench.execution.identity import expected_modules
from waitbench.execution.launch_report import OUTPUT, PROBES, REPORT, REPORTS
from waitbench.execution.services import LAUNCHER, Running, running
from waitbench.model.launch import BatchSlot, DataflowConfig, LaunchConfig, WorkerConfig, encode
from waitbench.model.revision import Environment
from waitbench.model.scenario import CAPABILITIES, Scenario, Topology
from waitbench.system import locks, variables
from waitbench.system.paths import DATAFLOWS, Cache
from waitbench.system.processes import Finished, run, tree_and_orphans


@dataclass(frozen=True, kw_only=True)
class ReadyRun:
    """A run whose services have started, but not its worker."""

    folder: Path
    launcher: tuple[str, ...]
    """The command line of the launcher."""
    variables: Mapping[str, str]
    time_limit_s: float
    services: Running
    config: LaunchConfig

    def carry_out(
        self, command: Sequence[str], on_start: Callable[[int], None] = lambda _group: None
    ) -> Finished:
        """Runs ``command``, which is ``launcher`` or wraps it, to its end or its time limit."""
        stdout, stderr = (self.folder / name for name in OUTPUT)
        # Mode x fails where a service of the run has put a link or a pipe.
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
    """The environments of a comparison, and the settings that all its runs share."""

    engine: Engine
    environments: Mapping[str, Environment]
    topology: Topology
    cache: Cache
    time_limit_s: float | None = None
    tracepoint: int | None = None
    pokes: bool = True
    """Whether workers of worker files are poked after their window."""

    def what_is_missing(self, scenario: Scenario, label: str) -> str | None:
        """Ends a sentence on a revision that cannot run a scenario; ``None`` if it can."""
        if missing := sorted(scenario.needs - self.environments[label].build.capabilities):
            return f"it cannot {' or '.join(CAPABILITIES[name] for name in missing)}"
        return None

    @contextmanager
    def prepare(
        self, scenario: Scenario, label: str, slot: BatchSlot, *, identifies: bool = False
    ) -> Iterator[ReadyRun]:
        """Starts a run's services; ends them, and removes its folder, after the block.

        With ``identifies``, the run reports which modules of its revision it has loaded. Raises
        ``HarnessError`` if a service does not start.
        """
        with locks.temporary_folder() as folder:
            (folder / REPORTS).mkdir()
            environment = self.environments[label]
            services_needed = self.engine.services(environment, scenario)
            with running(services_needed, folder, self.cache) as services:
                topology = scenario.topology_in(self.topology)
                program = self.engine.program(environment, scenario, topology)
                is_identified = identifies and isinstance(program, WorkerConfig)
                config = LaunchConfig(
                    program=program,
                    tracepoint=self.tracepoint,
                    services=services.configs,
                    slot=slot,
                    modules=expected_modules(self.engine, environment) if is_identified else None,
                    pokes=self.pokes,
                )
                yield ReadyRun(
                    folder=folder,
                    launcher=(*LAUNCHER, str(folder / REPORT), encode(config)),
                    variables=self._variables(folder, program, environment),
                    # Runs of a batch take turns.
                    time_limit_s=(self.time_limit_s or scenario.time_limit_s) * slot.size,
                    services=services,
                    config=config,
                )

    def _variables(
        self, folder: Path, program: DataflowConfig | WorkerConfig, environment: Environment
    ) -> dict[str, str]:
        # Dataflows import modules of dataflows/. Commands of worker files must not: a module of
        # theirs may have the same name.
        python_path = {"PYTHONPATH": str(DATAFLOWS)} if isinstance(program, DataflowConfig) else {}
        return {
            **variables.of_run(),
            PROBES: str(folder / REPORTS),
            **python_path,
            # The same hashes of strings in all runs, so that the order of sets does not differ.
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.cache.bytecode()),
            **self.engine.variables(environment),
        }
