"""Two revisions -> what may lie between them: releases, or commits."""

from dataclasses import dataclass, replace

from packaging.version import Version

from waitbench.engines.base import Engine
from waitbench.environments import history
from waitbench.environments.index import Index
from waitbench.environments.repository import SHALLOW_HINT, Repository, is_shallow
from waitbench.environments.revisions import Repositories
from waitbench.environments.sources import commit_of
from waitbench.model.environment import Interpreter
from waitbench.model.errors import UsageError
from waitbench.model.history import LoggedCommit, Point, Stretch
from waitbench.model.revision import Commit, Release, Revision

_SHOWN_DIGITS = 12


@dataclass(frozen=True)
class Candidates:
    """What lies between revisions of an engine."""

    engine: Engine
    repositories: Repositories

    @property
    def repository(self) -> Repository:
        """Where the engine's commits are. Raises ``UsageError``."""
        if self.engine.name not in self.repositories:
            raise UsageError(f"Only releases are known of {self.engine.name}, and no commits.")
        return self.repositories[self.engine.name]

    def releases(self, good: Revision, bad: Revision, index: Index, python: Interpreter) -> Stretch:
        """The releases between two revisions that have a wheel for a Python, by version.

        Where an end is a commit, they are those whose tags are its descendants, or its ancestors;
        pre-releases only if an end is one. Raises ``UsageError``.
        """
        first, last = _source(good), _source(bad)
        _require_order(good, bad)
        low, high = _version(first), _version(last)
        tags = self._tags(first, last)
        points = []
        for text in index.releases(python, prereleases=_is_early(low) or _is_early(high)):
            version = Version(text)
            is_within = (low is None or low < version) and (high is None or version < high)
            if is_within and (tags is None or self.engine.tag_of(text) in tags):
                points.append(Point(source=Release(text)))
        return Stretch(points=(Point(source=first), *points, Point(source=last)))

    def commits(self, good: Revision, bad: Revision, *, all_parents: bool = False) -> Stretch:
        """The points of the history between two revisions; see ``history.stretch``.

        A release is where its tag is, which may be a branch of its own. With such a release as the
        good end, the stretch begins where the history of the bad end is the same package, or else
        where the two part. Raises ``UsageError``.
        """
        _require_order(good, bad)
        one, other = (commit_of(_source(end), self.engine, self.repository) for end in (good, bad))
        folder = self.repository.folder()
        if history.is_ancestor(folder, other, one):
            raise _not_before(good, bad, is_same=one == other)
        start = one
        if not history.is_ancestor(folder, one, other):
            start = self._fork(good, bad, one, other)
        if history.is_cut(folder, start, other):
            raise self._shallow()
        is_input = self.engine.is_input
        found = history.stretch(folder, start, other, is_input, all_parents=all_parents)
        return found if start == one else self._begun_by(found, one, other)

    def inside(self, merge: LoggedCommit) -> Stretch | None:
        """The points of the branch that a commit merged; the merge is the last.

        The first is where the branch left: not what it was merged with, if that went on meanwhile.
        ``None`` where a commit is not a merge of one branch.
        """
        if len(merge.parents) != 2:
            return None
        folder = self.repository.folder()
        fork = history.fork_of(folder, *merge.parents)
        if fork is None or fork == merge.parents[1]:
            return None
        return history.branch(folder, fork, merge, self.engine.is_input)

    def _tags(self, first: Release | Commit, last: Release | Commit) -> frozenset[str] | None:
        """The tags that ends which are commits leave; ``None`` where neither is one."""
        after = first.commit if isinstance(first, Commit) else None
        before = last.commit if isinstance(last, Commit) else None
        if after is None and before is None:
            return None
        return history.tags(self.repository.folder(), after, before)

    def _fork(self, good: Revision, bad: Revision, one: str, other: str) -> str:
        """Where the history of the bad end leaves that of the good one. Raises ``UsageError``."""
        folder = self.repository.folder()
        fork = history.fork_of(folder, one, other)
        if is_shallow(folder) and (fork is None or not isinstance(good.source, Release)):
            raise self._shallow()
        if fork is None:
            raise UsageError(
                f"{good.label} and {bad.label} have no commit in common: there is no history "
                "between them to search."
            )
        if not isinstance(good.source, Release):
            shown = fork[:_SHOWN_DIGITS]
            raise UsageError(
                f"{good.label} is not an ancestor of {bad.label}: their histories part at {shown}. "
                f"Name {shown} as the good end, if it is as good as {good.label}."
            )
        return fork

    def _begun_by(self, found: Stretch, one: str, other: str) -> Stretch:
        """A stretch from where the history of ``other`` leaves that of ``one``, for the latter."""
        folder, is_input = self.repository.folder(), self.engine.is_input
        inputs = history.inputs_of(folder, one, is_input)
        for number, point in enumerate(found.points[:-1]):
            if point.inputs == inputs:
                # The tag's branch has what the other one had by then, and nothing else.
                begin = replace(point, source=Commit(one))
                return Stretch(points=(begin, *found.points[number + 1 :]))
        return replace(found, aside=history.own_of(folder, one, other))

    def _shallow(self) -> UsageError:
        return UsageError(f"{self.repository.shown} lacks commits between the ends, {SHALLOW_HINT}")


def _source(revision: Revision) -> Release | Commit:
    if isinstance(revision.source, (Release, Commit)):
        return revision.source
    raise UsageError(
        f"{revision.label} has no place in the history. Name a release, a tag, a branch or a "
        "commit."
    )


def _require_order(good: Revision, bad: Revision) -> None:
    low, high = _version(_source(good)), _version(_source(bad))
    if low is not None and high is not None and low >= high:
        raise _not_before(good, bad, is_same=low == high)


def _not_before(good: Revision, bad: Revision, *, is_same: bool) -> UsageError:
    if is_same:
        return UsageError(f"{good.label} and {bad.label} are the same: nothing lies between them.")
    return UsageError(
        f"{good.label} comes after {bad.label}: name the older one first, also where the newer one "
        "is the better."
    )


def _version(source: Release | Commit) -> Version | None:
    return Version(source.version) if isinstance(source, Release) else None


def _is_early(version: Version | None) -> bool:
    return version is not None and version.is_prerelease
