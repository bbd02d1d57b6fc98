"""Environments: virtualenvs with one revision installed, and their specification."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from waitbench.model.revision import Origin, Revision

OriginChoice = Literal["auto", "wheel", "source", "mixed"]


@dataclass(frozen=True)
class Interpreter:
    """A CPython."""

    executable: str
    version: str

    @property
    def minor(self) -> tuple[int, int]:
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def minor_text(self) -> str:
        return "{}.{}".format(*self.minor)

    @property
    def tag(self) -> str:
        return "cp{}{}".format(*self.minor)


@dataclass(frozen=True)
class Toolchain:
    """The compiler of source builds."""

    compiler: str
    flags: str
    name: str | None = None
    """The value that selects it where several are installed."""


@dataclass(frozen=True)
class SourceTree:
    """A tree of files in a git repository."""

    repository: Path
    tree: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentSpec:
    """Everything that determines an environment."""

    revision: Revision
    origin: Origin
    python: Interpreter
    commit: str | None
    """Full id, where the code comes from git."""
    commit_date: str | None
    """The committer's date, in ISO 8601."""
    wheel: Path | None
    sources: SourceTree | None = None
    """The tree to build the wheel from, where it is built here."""
    compiler: str | None = None
    """The compiler of a wheel that was built elsewhere for this comparison."""
    only_wheels: bool = True
    """Whether the package and all requirements have wheels for the Python."""


class Facts(Struct, frozen=True, kw_only=True):
    """Facts about an environment, stored in ``environment.json`` and in result files."""

    python: str
    package_version: str = ""
    """As the package says: builds between two releases carry the version of the earlier one."""
    extensions: Mapping[str, str] = {}
    """SHA-256 of each compiled extension, library and program, by its path in ``site-packages``."""
    package_sha256: str = ""
    """Over all files that the package installed, compiled or not."""
    requirements: tuple[str, ...] = ()
    """Installed packages, as ``name==version``."""
    compiler: str | None = None
    capabilities: frozenset[str] = frozenset()
    """Keys of ``model.scenario.CAPABILITIES``, and others that only the engine understands."""
    program: str = ""
    """The program or the variant, for revisions that are one."""


@dataclass(frozen=True)
class Environment:
    """A virtualenv."""

    folder: Path
    facts: Facts

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"
