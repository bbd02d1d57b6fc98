"""Workers that are only a command: an engine is made of each worker file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from waitbench.engines.base import (
    ARCHIVE,
    PROGRAM,
    WHEEL,
    Builder,
    Engine,
    ReadSource,
    Start,
    Traits,
    released_version,
)
from waitbench.model.environment import Environment, Interpreter, Toolchain
from waitbench.model.scenario import COMMAND, Scenario, Topology
from waitbench.model.worker import WorkerFile
from waitbench.system.variables import of_workload

_RELEASE = re.compile(r"v?\d[\w.]*")


class PureBuilder:
    """Builds source trees that nothing is compiled of."""

    needs = ""

    def toolchain(self, _sources: Sequence[ReadSource], _wanted: str | None = None) -> Toolchain:
        return Toolchain(compiler="none", flags="")

    def variables(self, _directory: Path, _toolchain: Toolchain) -> Mapping[str, str]:
        return {}

    def before(self, source: Path, directory: Path) -> None:
        """Nothing is kept from one build to the next."""

    def after(self, source: Path, directory: Path, toolchain: Toolchain, log: Path) -> None:
        """Nothing is compiled."""


class Command(Engine):
    """What a worker file describes; its revisions are releases of a package, variants, programs."""

    most_workers: int | None = 1
    builder: Builder = PureBuilder()
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
        self.smoke_test = f"import {self.module}" if self.module else ""

    def version_of(self, name: str) -> str | None:
        return released_version(name, _RELEASE)

    def tag_of(self, version: str) -> str:
        return version

    def supports(self, _python: Interpreter, _read: ReadSource) -> bool:
        return True

    def traits(self, _package: Path) -> Traits:
        return Traits(capabilities=self.capabilities)

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
