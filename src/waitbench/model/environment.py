"""Environments: virtualenvs with one revision installed, and their specification."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from waitbench.model.revision import Facts, Origin, Revision, Source

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
    """Everything that determines the environment of a revision."""

    revision: Revision
    source: Source
    python: Interpreter = Interpreter("", "")
    """Without an executable until one is chosen, and until it is fetched."""
    wheel: Path | None = None
    sources: SourceTree | None = None
    compiler: str | None = None
    """The compiler of a wheel that was built elsewhere for this comparison."""
    only_wheels: bool = True
    """Whether the package and all requirements have wheels for the Python."""

    @property
    def label(self) -> str:
        return self.revision.label

    @property
    def origin(self) -> Origin:
        return self.revision.origin


@dataclass(frozen=True)
class Environment:
    """A virtualenv."""

    folder: Path
    facts: Facts

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"
