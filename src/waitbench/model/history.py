"""A stretch of history that is searched for a change, and its points."""

from dataclasses import dataclass

from waitbench.model.revision import Commit, Release


@dataclass(frozen=True, kw_only=True)
class LoggedCommit:
    """A commit as the repository's log tells of it; all of its text can be shown as it is."""

    commit: str
    """Full id."""
    parents: tuple[str, ...]
    subject: str
    author: str
    date: str
    """When it was committed, in ISO 8601."""
    files: tuple[str, ...]
    """What differs from its first parent."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One state of the package, such as a search may measure."""

    source: Release | Commit
    """What is measured for it: of several commits the oldest, which made the package so; or
    the good end itself."""
    commits: tuple[LoggedCommit, ...] = ()
    """All that are this state, oldest first; none where the point is a release."""
    inputs: str | None = None
    """A digest of the files that the package is built from: points with equal ones are equal."""


@dataclass(frozen=True, kw_only=True)
class SearchRange:
    """The points from the good end to the bad one, in order, both included.

    There is only one where nothing in between can change the package.
    """

    points: tuple[Point, ...]
    aside: tuple[LoggedCommit, ...] = ()
    """What the good end has of its own, where the stretch begins before it because no point of it
    is the same package. None of these commits is searched."""
