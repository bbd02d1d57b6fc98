"""Revisions, their sources, builds and environments; ranges of revisions for searches."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert
from msgspec.structs import replace

SHOWN_DIGITS = 10
"""The number of digits that outputs show of a commit or another hash."""
OriginChoice = Literal["auto", "wheel", "source", "mixed"]
Archives = Literal["none", "dependencies", "all"]


class Origin(str, Enum):
    """The origin of a revision's code."""

    WHEEL = "wheel"
    SOURCE = "source"
    """A commit, which may be that of a release, built here."""
    CHECKOUT = "checkout"
    """A folder, built here as it is now, with uncommitted changes and without ignored files."""
    BUILD = "build"
    """A release, built by the command of a worker file."""
    FILE = "file"
    PROGRAM = "program"
    """A program on this machine, as it is now."""
    VARIANT = "variant"
    """A name from ``variants`` of a worker file, for which nothing is installed."""

    @property
    def is_release(self) -> bool:
        return self in (Origin.WHEEL, Origin.BUILD)


@dataclass(frozen=True)
class Source:
    """The code of a revision."""

    origin: Origin
    """The origin that the user named; a comparison may still build a release that has a wheel."""
    identity: str
    """A version, a commit's full id, git's id of a checkout's files, a SHA-256, or a variant."""
    path: Path | None = None


class BuildInfo(Struct, frozen=True, kw_only=True):
    """The content of an environment, stored in ``environment.json`` and in result files."""

    python: str
    package_version: str = ""
    """The version that the package states: commits after a release often have its version."""
    extensions: Mapping[str, str] = {}
    """SHA-256 of each compiled extension, library and program, by its path in ``site-packages``."""
    package_sha256: str = ""
    requirements: tuple[str, ...] = ()
    compiler: str | None = None
    capabilities: frozenset[str] = frozenset()
    """Keys of ``model.scenario.CAPABILITIES``, and others that only the engine uses."""
    program: str = ""
    """The value of ``{revision}``."""


class Revision(Struct, frozen=True, kw_only=True, rename={"build": "environment"}):
    """A revision that the user named, as result files have it."""

    label: str
    text: str
    """As the user wrote it, without the label."""
    origin: Origin
    engine: str
    commit: str | None = None
    commit_date: str | None = None
    build: BuildInfo | None = None
    """``None`` if it has not been built, or the build failed."""


@dataclass(frozen=True)
class Interpreter:
    """A CPython interpreter: its path and its version."""

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
    """The name by which rustup selects it; ``None`` without rustup."""


@dataclass(frozen=True)
class SourceTree:
    """The files of a commit, or of a checkout whose files were stored, in a git repository."""

    repository: Path
    tree: str
    """The id of the commit, or git's id of the checkout's files."""


class EnvironmentSpec(Revision, frozen=True, kw_only=True):
    """A revision with all facts that determine its environment."""

    source: Source
    python: Interpreter = Interpreter("", "")
    """Has no executable until it is chosen and, if necessary, downloaded."""
    wheel: Path | None = None
    """A wheel file of the user, or the wheel built from ``source_tree``."""
    source_tree: SourceTree | None = None
    """The files to build; ``None`` if nothing is built."""
    compiler: str | None = None
    """The compiler of the wheel that was built from ``source_tree``."""
    archives: Archives = "none"
    """What is not installed from wheels alone. ``all`` builds the package of each revision."""

    def recorded(self, build: BuildInfo | None) -> Revision:
        """Returns the revision as result files have it, with the build of its environment."""
        return convert(replace(self, build=build), Revision, from_attributes=True)


@dataclass(frozen=True)
class Environment:
    """The folder of an installed or built revision, usually a virtualenv."""

    folder: Path
    build: BuildInfo

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


@dataclass(frozen=True, kw_only=True)
class LoggedCommit:
    """A commit of the repository's log. Its texts are safe for terminals."""

    commit: str
    parents: tuple[str, ...]
    subject: str
    author: str
    date: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """A commit or release of the package that a search can measure."""

    label: str
    source: Source
    commit: LoggedCommit | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRange:
    """The points of a search, from the good end to the bad one."""

    points: tuple[Point, ...]
    """A single point if no commit between the ends changes the package."""
    begins_at_fork: bool = False
    """Whether the good end is on another branch, so that the search begins at their fork."""
