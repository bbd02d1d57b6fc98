"""Workers that are only a command: an engine is made of each worker file."""

from collections.abc import Mapping

from waitbench.engines.base import ARCHIVE, PROGRAM, WHEEL, Start
from waitbench.engines.carried import Carried
from waitbench.model.environment import Environment
from waitbench.model.scenario import COMMAND, Scenario, Topology
from waitbench.model.worker import WorkerFile
from waitbench.system.variables import of_workload


class Command(Carried):
    """What a worker file describes; its revisions are releases of a package, variants, programs."""

    runs_python = False
    only: str | None = COMMAND
    capabilities = frozenset({COMMAND})
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
        self.files = (WHEEL, ARCHIVE)
        self.variants = worker.variants
        self.pythons = worker.python
        self.is_program = worker.package is None and not worker.variants
        self.install = worker.install
        self.example = "./program" if self.is_program else (*self.variants, "1.0")[0]
        self.smoke_test = f"import {self.module}" if self.module else ""

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        told = {
            **self.worker.as_plain(),
            "copies": topology.processes,
            "parameters": {name: str(scenario.parameters[name]) for name in self.worker.parameters},
            "python": str(environment.python),
            "revision": environment.facts.details.get(PROGRAM, ""),
        }
        if not self.worker.ends_by_itself:
            told["window_s"] = scenario.parameters["window"]
        return Start(arguments=(), processes=1, worker=told, variables=_variables(environment))


def _variables(environment: Environment) -> Mapping[str, str]:
    """What finds the programs that are installed beside it first."""
    folder = environment.python.parent
    if not folder.is_dir():
        return {}
    path = of_workload().get("PATH", "")
    return {"PATH": f"{folder}:{path}", "VIRTUAL_ENV": str(folder.parent)}
