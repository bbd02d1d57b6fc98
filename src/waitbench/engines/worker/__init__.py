"""Engines of worker files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from waitbench.engines.base import Engine, LaunchSpec
from waitbench.engines.services import Service, services_of, values_of
from waitbench.engines.worker.file import PHASE, needs_python
from waitbench.engines.worker.scenarios import WINDOW
from waitbench.model.environment import Environment
from waitbench.model.scenario import Parameters, Scenario, Topology
from waitbench.model.worker import WorkerFile
from waitbench.system.variables import of_workload

_LAUNCHER_KEYS = "command", "environment", "ready", "settled", "stop", "stop_within_s", "poke"
"""Keys of a worker file that the launcher gets as they are."""


class Command(Engine):
    """The engine of a worker file; revisions are releases of a package, variants or programs."""

    takes_archives = True
    most_workers: int | None = 1
    topologies = ("single", "cluster")
    """Copies share the services; each has its own folder and port."""

    def __init__(self, worker: WorkerFile) -> None:
        self.worker = worker
        self.name = worker.name
        self.package = worker.package or ""
        self.extras = worker.extras
        self.module = worker.module
        self.repository = worker.repository
        self.requirements = worker.beside
        self.exclude_newer = str(worker.exclude_newer or "")
        self.variants = worker.variants
        self.pythons = worker.python
        self.is_program = worker.package is None and not worker.variants
        self.has_environment = not self.is_program and needs_python(worker)
        self.install = worker.install
        self.smoke_test = f"import {self.module}" if self.module else ""

    def services(self, environment: Environment, scenario: Scenario) -> Sequence[Service]:
        return services_of(self.worker, scenario.parameters, environment.python)

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> LaunchSpec:
        config = launch_config(
            self.worker, scenario.parameters, environment.python, topology.processes
        )
        config["values"]["revision"] = environment.facts.program
        folder = environment.python.parent
        if not folder.is_dir():
            return LaunchSpec(config=config)
        # Programs installed in the environment are found first.
        path = f"{folder}:{of_workload().get('PATH', '')}"
        variables = {"PATH": path, "VIRTUAL_ENV": str(folder.parent)}
        return LaunchSpec(config=config, variables=variables)


def launch_config(
    worker: WorkerFile, parameters: Parameters, python: Path, copies: int = 1
) -> dict[str, Any]:
    """Makes the launcher's configuration, for JSON: execution/worker_launch.py."""
    return {
        **{name: to_builtins(getattr(worker, name)) for name in _LAUNCHER_KEYS},
        "values": values_of(worker, parameters, python),
        "files": [str(worker.path.parent / name) for name in worker.files],
        "phases": to_builtins(worker.phases_until(parameters.get(PHASE))),
        # 0: the run finds its window.
        "window_s": None if worker.ends_by_itself else parameters.get(WINDOW, 0.0),
        "copies": copies,
    }
