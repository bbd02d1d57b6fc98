"""The seam between the harness and what is under test: all that it may ask of an engine."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from waitbench.engines.services import Service
from waitbench.model.environment import Environment
from waitbench.model.scenario import Scenario, Topology


@dataclass(frozen=True, kw_only=True)
class Start:
    """How the processes of a run are started."""

    told: Mapping[str, Any]
    """What the launcher is told, as JSON takes it.

    ``arguments`` of each of so many ``processes``, in which ``placeholders.INDEX`` and
    ``ADDRESSES`` are filled in; or a worker that is a command: execution/worker_launch.py."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that they have besides those of every run."""


class Engine(ABC):
    """What is installed as a Python package, and measured; with what most of them say."""

    name: str
    """What results and messages call it."""
    package: str
    """On the package index, and of wheels: its normalised name."""
    extras: tuple[str, ...] = ()
    """Of the package: what they need is installed with it."""
    module: str
    """The package's folder in ``site-packages``."""
    oldest: str | None = None
    """The oldest version that can be measured, where there are older ones."""
    repository: str | None = None
    """Where commits, branches and tags are by default; ``None`` if only releases are known."""
    repository_variable: str | None = None
    """The environment variable that names another repository."""
    takes_archives: bool = False
    """Whether a wheel is made here of a source archive where the index has no other."""
    requirements: tuple[str, ...] = ()
    """Packages that it needs beside it and does not ask for itself, pinned."""
    exclude_newer: str = ""
    """The last day whose releases of other packages are installed; empty for no such day."""
    has_environment: bool = True
    """Whether a virtualenv is made of a revision."""
    is_program: bool = False
    """Whether a revision is a program on this machine."""
    variants: tuple[str, ...] = ()
    """The words that are its revisions, where these have one environment; else empty."""
    pythons: str = ""
    """The Pythons that it takes, as packages write it (``>=3.9,<3.13``); empty for any."""
    install: str = ""
    """The command that installs such a program, if it is known."""
    topologies: tuple[str, ...] = ("single",)
    """Kinds of ``Topology`` that it has: ``single``, ``cluster``, ``launcher``."""
    most_workers: int | None = None
    """Worker threads that one process may have; ``None`` for any number."""
    build_paths: Sequence[str] = (":(top)",)
    """The files that the package is built from, as git's pathspecs; in doubt, a file is."""
    smoke_test: str
    """A Python program that fails where the installed package cannot be used; may be empty."""
    uses_cargo: bool = False
    """Whether its sources are built by cargo: engines/cargo.py."""
    building_needs: str = ""
    """What a machine must have to build it, as a sentence that follows the error of a build."""

    release: re.Pattern[str] = re.compile(r"v?\d[\w.]*")
    """What names of releases look like."""

    def version_of(self, name: str) -> str | None:
        """The version that a name such as ``v0.16.1`` means; ``None`` if it is not a release."""
        try:
            return str(Version(name.removeprefix("v"))) if self.release.fullmatch(name) else None
        except InvalidVersion:
            return None

    def tag_of(self, version: str) -> str:
        """The repository's tag of a version, which also names the release on the command line."""
        return version

    def capabilities(self, package: Path) -> frozenset[str]:
        """What an installed package can do. ``package`` is its folder in ``site-packages``."""
        return frozenset()

    def services(self, environment: Environment, scenario: Scenario) -> Sequence[Service]:
        """The servers of a run, in the order in which they start; their CPU is not the run's."""
        return ()

    @abstractmethod
    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        """How a run of ``scenario`` is started."""

    def role(self, arguments: Sequence[str]) -> str | None:
        """The role of a process, such as ``worker 0``, by its arguments; ``None`` if unknown."""
        return None
