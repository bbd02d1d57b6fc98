"""Workers that are commands: each worker file makes an engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from waitbench.engines.base import Engine, Start
from waitbench.engines.services import Service, services_of, values_of
from waitbench.engines.worker.file import PHASE, needs_python
from waitbench.engines.worker.scenarios import WINDOW
from waitbench.model.environment import Environment
from waitbench.model.scenario import Parameters, Scenario, Topology
from waitbench.model.worker import WorkerFile
from waitbench.system.variables import of_workload

_TOLD = (
    "command", "environment", "ready", "settled", "stop", "stop_within_s", "poke",
)  # fmt: skip
"""The keys of a worker file that the launcher is told as they are."""


class Command(Engine):
    """What a worker file describes; its revisions are releases of a package, variants, programs."""

    takes_archives = True
    most_workers: int | None = 1
    topologies = ("single", "cluster")
    """Several are copies that share the services; each has a folder and a port of its own."""

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

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        told = launched(self.worker, scenario.parameters, environment.python, topology.processes)
        told["values"]["revision"] = environment.facts.program
        return Start(told=told, variables=_variables(environment))


def launched(
    worker: WorkerFile, parameters: Parameters, python: Path, copies: int = 1
) -> dict[str, Any]:
    """What the launcher is told of a worker, as JSON takes it: execution/worker_launch.py."""
    return {
        **{name: to_builtins(getattr(worker, name)) for name in _TOLD},
        "values": values_of(worker, parameters, python),
        "files": [str(worker.path.parent / name) for name in worker.files],
        "phases": to_builtins(worker.phases_until(parameters.get(PHASE))),
        # Without any seconds, the run finds them.
        "window_s": None if worker.ends_by_itself else parameters.get(WINDOW, 0.0),
        "copies": copies,
    }


def _variables(environment: Environment) -> Mapping[str, str]:
    """What finds the programs that are installed beside it first."""
    folder = environment.python.parent
    if not folder.is_dir():
        return {}
    path = of_workload().get("PATH", "")
    return {"PATH": f"{folder}:{path}", "VIRTUAL_ENV": str(folder.parent)}
