"""Revisions, their sources, builds and environments; and ranges of them to search."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert
from msgspec.structs import replace

SHOWN_DIGITS = 10
"""The digits of a commit, or of another hash, that outputs show."""
OriginChoice = Literal["auto", "wheel", "source", "mixed"]


class Origin(str, Enum):
    """The origin of a revision's code."""

    WHEEL = "wheel"
    SOURCE = "source"
    """A commit of the repository, or a release's, built here."""
    CHECKOUT = "checkout"
    """A folder, built here as it is now: uncommitted changes included, ignored files not."""
    BUILD = "build"
    """A release, built by the command of a worker file."""
    FILE = "file"
    PROGRAM = "program"
    """A program on this machine, as it is now."""
    VARIANT = "variant"
    """A word of a worker file; nothing is installed."""

    @property
    def is_release(self) -> bool:
        return self in (Origin.WHEEL, Origin.BUILD)


@dataclass(frozen=True)
class Source:
    """The code of a revision."""

    origin: Origin
    """The default: a release may be built here instead."""
    identity: str
    """A version, a commit's full id, git's id of a checkout's files, a SHA-256, or a variant."""
    path: Path | None = None


class BuildInfo(Struct, frozen=True, kw_only=True):
    """The content of an environment, stored in ``environment.json`` and in result files."""

    python: str
    package_version: str = ""
    """As the package says: builds between two releases carry the version of the earlier one."""
    extensions: Mapping[str, str] = {}
    """SHA-256 of each compiled extension, library and program, by its path in ``site-packages``."""
    package_sha256: str = ""
    requirements: tuple[str, ...] = ()
    compiler: str | None = None
    capabilities: frozenset[str] = frozenset()
    """Keys of ``model.scenario.CAPABILITIES``, and others that only the engine understands."""
    program: str = ""


class Revision(Struct, frozen=True, kw_only=True, rename={"build": "environment"}):
    """A state of an engine's code that the user named; as stored in result files."""

    label: str
    text: str
    """As the user wrote it, without the label."""
    origin: Origin
    engine: str
    commit: str | None = None
    commit_date: str | None = None
    build: BuildInfo | None = None
    """``None`` before it is built, and where that failed."""


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


class EnvironmentSpec(Revision, frozen=True, kw_only=True):
    """A revision with everything that determines its environment."""

    source: Source
    python: Interpreter = Interpreter("", "")
    """Its executable is empty until one is chosen and, if necessary, downloaded."""
    wheel: Path | None = None
    sources: SourceTree | None = None
    compiler: str | None = None
    """The compiler of a wheel that was built elsewhere for this comparison."""
    only_wheels: bool = True
    """Whether the package and all requirements have wheels for the Python."""

    def recorded(self, build: BuildInfo | None) -> Revision:
        """Returns it without the fields that result files do not have."""
        return convert(replace(self, build=build), Revision, from_attributes=True)


@dataclass(frozen=True)
class Environment:
    """A virtualenv."""

    folder: Path
    build: BuildInfo

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


@dataclass(frozen=True, kw_only=True)
class LoggedCommit:
    """A commit of the repository's log, with texts that are safe to show."""

    commit: str
    parents: tuple[str, ...]
    subject: str
    author: str
    date: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """A state of the package in a search."""

    label: str
    source: Source
    commit: LoggedCommit | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRange:
    """The points from the good end to the bad one; one where no change between them matters."""

    points: tuple[Point, ...]
    begins_at_fork: bool = False
    """Whether it begins where the branches part, as the good end is on another branch."""
