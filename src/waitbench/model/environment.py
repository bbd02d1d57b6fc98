"""Environments: a virtualenv with one revision installed, and all that determines one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from waitbench.model.revision import Origin, Revision

OriginChoice = Literal["auto", "wheel", "source", "mixed"]
"""What ``--origin`` takes."""


@dataclass(frozen=True)
class Interpreter:
    """One CPython."""

    executable: str
    version: str
    """Such as ``3.10.13``."""

    @property
    def minor(self) -> tuple[int, int]:
        """Such as ``(3, 10)``."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def minor_text(self) -> str:
        return "{}.{}".format(*self.minor)

    @property
    def tag(self) -> str:
        """Such as ``cp310``."""
        return "cp{}{}".format(*self.minor)


@dataclass(frozen=True)
class Toolchain:
    """What compiles a source build besides the Python."""

    compiler: str
    """Its name and version, or ``none``."""
    flags: str
    name: str | None = None
    """What it is forced by, where several are installed."""


@dataclass(frozen=True)
class SourceTree:
    """A tree of files in a git repository."""

    repository: Path
    tree: str
    """Its id, or that of a commit."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentSpec:
    """All that determines one environment."""

    revision: Revision
    origin: Origin
    python: Interpreter
    commit: str | None
    """Full id, where the code comes from git."""
    commit_date: str | None
    """ISO 8601, of the committer, where there is a commit."""
    wheel: Path | None
    """The wheel to install, where there is one already."""
    sources: SourceTree | None = None
    """What its wheel is built from, where it is built here."""
    compiler: str | None = None
    """What compiled the wheel, where it was built for this comparison, if elsewhere."""
    only_wheels: bool = True
    """Whether all that is installed, with what it requires, has a wheel for the Python."""


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of an environment, kept in it as ``environment.json`` and in result files."""

    python: str
    """Version of the interpreter."""
    package_version: str = ""
    """As the package says; builds between two releases all carry the earlier one's."""
    extensions: Mapping[str, str] = {}
    """SHA-256 of each compiled extension, library and program, by its path in ``site-packages``."""
    package_sha256: str = ""
    """Over all files that the package installed, compiled or not."""
    requirements: tuple[str, ...] = ()
    """What is installed, as ``name==version``."""
    compiler: str | None = None
    """Of builds made here."""
    capabilities: frozenset[str] = frozenset()
    """What it can do; see ``model.scenario.CAPABILITIES``. Others only its engine understands."""
    program: str = ""
    """The program or the variant that the revision is, where it is one."""


@dataclass(frozen=True)
class Environment:
    """A virtualenv with one revision installed."""

    folder: Path
    facts: Facts

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"
