"""The interface of engines: the facts that waitbench knows about the program under test."""

import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from waitbench.model.errors import HarnessError
from waitbench.model.launch import DataflowConfig, ServiceConfig, Site, WorkerConfig, filled
from waitbench.model.revision import Environment
from waitbench.model.scenario import Scenario, Topology
from waitbench.model.worker import Build, ServiceTable


@dataclass(frozen=True, kw_only=True)
class Service:
    """A server that a run needs, started before it and stopped after it."""

    name: str
    table: ServiceTable
    site: Site
    values: dict[str, str]
    """Values of placeholders, shared by all services of a run: each adds its port and folder."""

    def configure(self, port: int, folder: Path) -> ServiceConfig:
        """Makes the launcher's configuration, and adds the port and the folder to ``values``."""
        self.values.update({f"{self.name}.port": str(port), f"{self.name}.folder": str(folder)})
        site = self.site._replace(port=port, folder=str(folder))
        values = {**self.values, **site.values()}
        return ServiceConfig(
            command=filled(self.table.command, values),
            ready=filled(self.table.ready, values),
            stop=self.table.stop.removeprefix("SIG"),
            port=port,
            folder=str(folder),
            log=f"{folder}.log",
            counters=filled(self.table.counters, values),
        )


def require_program(program: str, needed_by: str, install: str) -> None:
    """Raises ``HarnessError`` with a remedy if a program, not a placeholder, is missing."""
    if not program.startswith("{") and shutil.which(program) is None:
        remedy = f" This would install it: {install}" if install else ""
        raise HarnessError(f"{needed_by} needs the program {program}, which is not here.{remedy}")


class Engine(ABC):
    """A kind of Python package or program that is measured."""

    name: str
    package: str
    """The normalised name on the package index."""
    extras: tuple[str, ...] = ()
    """Extras of the package, such as ``standard`` in ``uvicorn[standard]``."""
    module: str
    """The package's folder in ``site-packages``."""
    oldest: str | None = None
    """The oldest release that can be measured."""
    repository: str | None = None
    """Default repository; ``None`` if only releases are known."""
    takes_archives: bool = False
    """Whether a release without a wheel on the index is built from its source archive."""
    requirements: tuple[str, ...] = ()
    """Pins of packages to install in addition to the revision."""
    has_environment: bool = True
    """Whether a revision has a virtualenv."""
    is_program: bool = False
    """Whether revisions are programs of this machine."""
    variants: tuple[str, ...] = ()
    """The words that a worker file lists as its revisions; empty: revisions are something else."""
    build: Build | None = None
    """The build of revisions that are not Python packages."""
    pythons: str = ""
    """The supported Pythons, such as ``>=3.9``."""
    install: str = ""
    """A command that installs the programs that runs need, shown where one is missing."""
    topologies: tuple[str, ...] = ("single",)
    most_workers: int | None = None
    """The greatest ``--workers``: worker threads of a process; ``None``: any number."""
    build_paths: Sequence[str] = (":(top)",)
    """Git's pathspecs of the files that may affect a build."""
    smoke_test: str
    """Python code that fails if the package does not work; empty: no test."""
    uses_cargo: bool = False
    building_needs: str = ""
    """A sentence on prerequisites of builds, shown where one fails."""
    release: re.Pattern[str] = re.compile(r"(?!(?!20\d{6}\Z)[0-9a-f]{7,40}\Z)v?\d[\w.]*")
    """The names of releases. Others, such as 7 hex digits or more but for a date, are commits."""

    def version_of(self, name: str) -> str | None:
        """Returns the version of a release name such as ``v0.16.1``; ``None`` for other names."""
        try:
            return str(Version(name.removeprefix("v"))) if self.release.fullmatch(name) else None
        except InvalidVersion:
            return None

    def tag_of(self, version: str) -> str:
        """Returns the repository's tag of a release."""
        return version

    def capabilities(self, package: Path) -> frozenset[str]:
        """Returns the capabilities of an installed package, by its files."""
        return frozenset()

    def services(self, environment: Environment, scenario: Scenario) -> Sequence[Service]:
        """Returns the services of a run, in the order of their start."""
        return ()

    @abstractmethod
    def program(
        self, environment: Environment, scenario: Scenario, topology: Topology
    ) -> DataflowConfig | WorkerConfig:
        """Describes how to start a run of ``scenario``."""

    def variables(self, environment: Environment) -> Mapping[str, str]:
        """Returns environment variables of its runs, in addition to those of every run."""
        return {}

    def role(self, arguments: Sequence[str]) -> str | None:
        """Returns the role of a process with these arguments, such as ``worker 0``."""
        return None
