"""What the user named, resolved to what can be installed; and a history searched for a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name


@dataclass(frozen=True)
class Release:
    """A released version, such as ``0.16.1``: on the package index, in the repository, or both."""

    version: str

    @property
    def identity(self) -> str:
        return self.version


@dataclass(frozen=True)
class Commit:
    """One commit of the repository, by its full id."""

    commit: str

    @property
    def identity(self) -> str:
        return self.commit


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A folder with sources as they are now, uncommitted changes included, ignored files not."""

    folder: Path
    tree: str
    """The id that git gives its files as they are."""
    commit: str | None

    @property
    def identity(self) -> str:
        return self.tree


@dataclass(frozen=True)
class WheelFile:
    """A wheel on disk."""

    path: Path
    sha256: str

    @property
    def identity(self) -> str:
        return self.sha256


@dataclass(frozen=True)
class Program:
    """A program on this machine, as it is now."""

    path: Path
    sha256: str

    @property
    def identity(self) -> str:
        return self.sha256


@dataclass(frozen=True)
class Variant:
    """One of the words that a worker file has for revisions: nothing of it is installed."""

    name: str

    @property
    def identity(self) -> str:
        return self.name


Source = Release | Commit | Checkout | WheelFile | Program | Variant


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One state of an engine's code that the user named."""

    label: str
    """Shown everywhere; unique in a comparison."""
    text: str
    """As the user wrote it, without the label."""
    engine: str
    """The name of the engine whose revision it is."""
    source: Source
    beside: tuple[str, ...] = ()
    """Packages that the user wants beside it, pinned, such as ``confluent-kafka==2.9.0``."""

    @property
    def variant(self) -> str:
        """What the user wants of it besides, as it is typed: see ``typed``."""
        return typed(self.beside)


def typed(beside: Sequence[str]) -> str:
    """What a revision has besides its code, as users type it: ``+NAME==VERSION``.

    The same in whichever order, and however packages were spelled.
    """
    pins = (one.partition("==") for one in beside)
    packages = sorted(f"{canonicalize_name(name)}=={version}" for name, _, version in pins)
    return "".join(f"+{one}" for one in packages)


@dataclass(frozen=True, kw_only=True)
class LoggedCommit:
    """A commit as the repository's log has it; all of its text can be shown as it is."""

    commit: str
    """Full id."""
    parents: tuple[str, ...]
    subject: str
    author: str
    date: str
    """When it was committed, in ISO 8601."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One state of the package, such as a search may measure."""

    source: Release | Commit
    commit: LoggedCommit | None = None
    """``None`` of a release."""


@dataclass(frozen=True, kw_only=True)
class SearchRange:
    """The points from the good end to the bad one, in order, both included.

    There is only one where nothing in between can change the package.
    """

    points: tuple[Point, ...]
    begins_at_fork: bool = False
    """Whether the good end is on a branch of its own, and the range begins where that left."""
