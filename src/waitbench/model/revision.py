"""What the user named, resolved to what can be installed; and a history searched for a change."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Origin(str, Enum):
    """Where a revision's code comes from."""

    WHEEL = "wheel"
    """A release: its wheel of the package index."""
    SOURCE = "source"
    """A commit of the repository, or a release's, built here."""
    CHECKOUT = "checkout"
    """A folder, built here as it is now: uncommitted changes included, ignored files not."""
    FILE = "file"
    """A wheel on disk."""
    PROGRAM = "program"
    """A program on this machine, as it is now."""
    VARIANT = "variant"
    """A word of a worker file's, of which nothing is installed."""


@dataclass(frozen=True)
class Source:
    """Which code a user named."""

    origin: Origin
    """Where it comes from unless that is decided otherwise: a release may be built here."""
    identity: str
    """A version, a commit's full id, git's id of a checkout's files, a SHA-256, or a variant."""
    path: Path | None = None
    """The folder, the wheel or the program."""


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

    source: Source
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
