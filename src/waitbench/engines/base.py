"""The seam between the harness and what is under test: all that it may ask of an engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from waitbench.model.environment import Environment, Interpreter, Toolchain
from waitbench.model.scenario import Scenario, Topology

ReadSource = Callable[[str], str | None]
"""The text of one file of a source tree, by its path; ``None`` where there is no such file."""

INDEX, ADDRESSES = "{index}", "{addresses}"
"""Arguments that stand for a process's number, and for the addresses of all, when a run starts; see
dataflows/support/launch.py."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What an installed package can do, as far as its files tell."""

    capabilities: frozenset[str] = frozenset()
    """Out of ``model.scenario.CAPABILITIES``."""
    details: Mapping[str, str] = field(default_factory=dict)
    """What the engine itself needs to know again when a run starts."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """How the processes of a run are started."""

    arguments: tuple[str, ...]
    """Of each process; ``INDEX`` and ``ADDRESSES`` among them are filled in."""
    processes: int
    """How many of them."""


class Builder(Protocol):
    """How a source tree becomes a wheel, besides ``pip wheel`` itself."""

    def toolchain(self, sources: Sequence[ReadSource], wanted: str | None = None) -> Toolchain:
        """The one compiler that all of some source trees are built by.

        ``wanted`` is what the user asks for. Raises ``HarnessError`` where none fits, with the
        command that installs one.
        """

    def variables(self, directory: Path, toolchain: Toolchain) -> Mapping[str, str]:
        """Environment variables of a build; ``directory`` keeps what builds share."""

    def before(self, source: Path, directory: Path) -> None:
        """Makes sure that the sources will really be compiled."""

    def after(self, source: Path, directory: Path, toolchain: Toolchain, log: Path) -> None:
        """Raises ``HarnessError`` if they were not, or by another compiler."""

    def hint(self, log: Path) -> str:
        """What a failed build seems to lack, as a sentence; empty if nothing is recognised."""


class Engine(Protocol):
    """A stream processor, distributed as a Python package."""

    name: str
    """The prefix of ``NAME@REVISION``."""
    package: str
    """On the package index, and of wheels."""
    module: str
    """The package's folder in ``site-packages``."""
    repository: str
    """Where commits, branches and tags are by default."""
    repository_variable: str
    """The environment variable that names another repository."""
    topologies: tuple[str, ...]
    """Kinds of ``Topology`` that it has: ``single``, ``cluster``, ``launcher``."""
    smoke_test: str
    """A Python program that fails where the package was installed but cannot be used."""
    builder: Builder

    def version_of(self, name: str) -> str | None:
        """The version that a name such as ``v0.16.1`` means; ``None`` if it is not a release."""

    def tag_of(self, version: str) -> str:
        """The repository's tag of a version."""

    def supports(self, python: Interpreter, read: ReadSource) -> bool:
        """Whether a source tree builds for a Python, as far as its files tell."""

    def is_input(self, path: str) -> bool:
        """Whether a file of the source tree may change the package; in doubt, it may."""

    def traits(self, package: Path) -> Traits:
        """What an installed package can do. ``package`` is its folder in ``site-packages``."""

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        """How a run of ``scenario`` is started."""

    def role(self, arguments: Sequence[str]) -> str | None:
        """The role of a process, such as ``worker 0``, by its arguments; ``None`` if unknown."""
