"""Revisions, resolved to installable sources; and ranges of them to search for a change."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Origin(str, Enum):
    """The origin of a revision's code."""

    WHEEL = "wheel"
    """A release's wheel from the package index."""
    SOURCE = "source"
    """A commit of the repository, or a release's, built here."""
    CHECKOUT = "checkout"
    """A folder, built here as it is now: uncommitted changes included, ignored files not."""
    FILE = "file"
    PROGRAM = "program"
    """A program on this machine, as it is now."""
    VARIANT = "variant"
    """A word of a worker file; nothing is installed."""


@dataclass(frozen=True)
class Source:
    """The code of a revision."""

    origin: Origin
    """The default: a release may be built here instead."""
    identity: str
    """A version, a commit's full id, git's id of a checkout's files, a SHA-256, or a variant."""
    path: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A state of an engine's code that the user named."""

    label: str
    text: str
    """As the user wrote it, without the label."""
    engine: str
    source: Source


@dataclass(frozen=True, kw_only=True)
class LoggedCommit:
    """A commit of the repository's log, with texts that are safe to show."""

    commit: str
    """Full id."""
    parents: tuple[str, ...]
    subject: str
    author: str
    date: str
    """The committer's date, in ISO 8601."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A state of the package in a search."""

    source: Source
    commit: LoggedCommit | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRange:
    """The points from the good end to the bad one; one if nothing else can change the package."""

    points: tuple[Point, ...]
    begins_at_fork: bool = False
