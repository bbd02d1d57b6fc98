"""Two revisions -> what may lie between them: releases, or stretches of the commit history."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from packaging.version import Version

from waitbench.engines.base import Engine
from waitbench.environments.index import Index
from waitbench.environments.repository import SHALLOW_HINT, Repository, git, is_shallow
from waitbench.environments.revisions import Repositories
from waitbench.environments.sources import commit_of
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Commit, LoggedCommit, Point, Release, Revision, SearchRange
from waitbench.system.streams import printable

IsInput = Callable[[str], bool]
"""Whether a file, by its path in the sources, may change the package."""

_FIELDS = ("%H", "%P", "%cI", "%an", "%s")
_LOG = (
    "log", "-z", "--reverse", "--topo-order", f"--format={'%x00'.join(_FIELDS)}",
    "--encoding=UTF-8", "--no-show-signature",
    "--raw", "--root", "--diff-merges=first-parent", "--no-abbrev", "--no-renames",
    "--no-relative", "--ignore-submodules=none",
)  # fmt: skip
"""Whatever the user has set for reading. No content is looked at: a partial copy lacks it."""
_DIGESTS = 2**256

_Change = tuple[str, str, str, str, str]
"""Path, mode before and after, content before and after, of a file that a commit changes."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A commit, and by how much the digest of its inputs is above that of its first parent."""

    logged: LoggedCommit
    change: int


def is_ancestor(folder: Path, one: str, other: str) -> bool:
    """Whether a commit is an ancestor of another one, or the same."""
    return git(folder, "merge-base", "--is-ancestor", one, other) is not None


def fork_of(folder: Path, one: str, other: str) -> str | None:
    """The newest commit that is in the history of both, if any."""
    found = git(folder, "merge-base", one, other)
    return found.splitlines()[0] if found else None


def is_cut(folder: Path, good: str, bad: str) -> bool:
    """Whether a repository is shallow such that first parents of ``bad`` are missing."""
    first_parents = ("rev-list", "--first-parent", "--max-parents=0", f"{good}..{bad}")
    return is_shallow(folder) and bool(_ask(folder, *first_parents))


def stretch(
    folder: Path, good: str, bad: str, affects_build: IsInput, *, all_parents: bool = False
) -> SearchRange:
    """The points between two commits, the first of which is an ancestor of the second.

    They are along first parents: each is what became of the one before by one commit, or by one
    merge. With ``all_parents`` all descendants of ``good`` are among them, in topological order:
    neighbours there may be of different branches, and neither what became of the other.
    """
    how = "--ancestry-path" if all_parents else "--first-parent"
    return _stretch(
        folder, good, _descendants(folder, good, bad, affects_build, how), affects_build
    )


def branch(folder: Path, fork: str, merge: LoggedCommit, affects_build: IsInput) -> SearchRange:
    """The points of what was merged, from where it left to the merge itself."""
    entries = _descendants(folder, fork, merge.parents[1], affects_build, "--first-parent")
    entries += _log(folder, affects_build, "--no-walk", merge.commit)
    return _stretch(folder, fork, entries, affects_build)


def own_of(folder: Path, one: str, other: str) -> tuple[LoggedCommit, ...]:
    """The commits in the history of ``one`` that are not in that of ``other``, oldest first."""
    entries = _log(folder, lambda _path: False, f"{other}..{one}")
    return tuple(entry.logged for entry in entries)


def inputs_of(folder: Path, commit: str, affects_build: IsInput) -> str:
    """``Point.inputs`` of a commit."""
    return _shown_digest(_inputs(folder, commit, affects_build))


def tags(folder: Path, after: str | None, before: str | None) -> frozenset[str]:
    """The tags on descendants of one commit and on ancestors of another, the two left out."""
    ends = [*(("--contains", after) if after else ()), *(("--merged", before) if before else ())]
    names = "--format=%(refname:strip=2) %(objectname) %(*objectname)"
    listed = _ask(folder, "for-each-ref", names, *ends, "refs/tags").splitlines()
    return frozenset(
        name for name, *ids in (line.split() for line in listed) if not {after, before} & {*ids}
    )


def _stretch(
    folder: Path, start: str, entries: Sequence[_Entry], affects_build: IsInput
) -> SearchRange:
    """A point for each run of neighbours that have the same inputs, beginning with ``start``."""
    digests = _digests(folder, start, entries, affects_build)
    first = _log(folder, affects_build, "--no-walk", start)
    logged = [entry.logged for entry in (*first, *entries)]
    points = []
    for inputs, group in groupby(logged, key=lambda one: digests[one.commit]):
        commits = tuple(group)
        source = Commit(commits[0].commit)
        points.append(Point(source=source, commits=commits, inputs=_shown_digest(inputs)))
    return SearchRange(points=tuple(points))


def _descendants(
    folder: Path, good: str, bad: str, affects_build: IsInput, how: str
) -> list[_Entry]:
    """What ``git log`` finds between two commits, without what does not descend from the first."""
    # With --ancestry-path and --first-parent at once, git finds too little.
    within = set(_ask(folder, "rev-list", "--ancestry-path", f"{good}..{bad}").split())
    found = _log(folder, affects_build, how, f"{good}..{bad}")
    return [entry for entry in found if entry.logged.commit in within]


def _digests(
    folder: Path, start: str, entries: Sequence[_Entry], affects_build: IsInput
) -> Mapping[str, int]:
    """The digest of the inputs of ``start`` and of each commit, which come behind their parents."""
    known = {start: _inputs(folder, start, affects_build)}
    for entry in entries:
        parent = entry.logged.parents[0]  # a descendant has one
        if parent not in known:
            known[parent] = _inputs(folder, parent, affects_build)
        known[entry.logged.commit] = (known[parent] + entry.change) % _DIGESTS
    return known


def _inputs(folder: Path, commit: str, affects_build: IsInput) -> int:
    """A digest of the files of a commit that the package is built from.

    It is a sum over the files, so that it can be carried on from one commit to the next.
    """
    total = 0
    for entry in _ask(folder, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        mode, _, content = about.split()
        total += _digest(path, mode, content) if affects_build(path) else 0
    return total % _DIGESTS


def _log(folder: Path, affects_build: IsInput, *which: str) -> list[_Entry]:
    """The commits that ``which`` names, oldest first."""
    tokens = iter(_ask(folder, *_LOG, *which, "--").split("\0"))
    entries = []
    token = next(tokens, "")
    while token:
        commit, parents, date, author, subject = (token, *(next(tokens) for _ in _FIELDS[1:]))
        changes, token = _changes(tokens)
        logged = LoggedCommit(
            commit=commit,
            parents=tuple(parents.split()),
            subject=_shown(subject),
            author=_shown(author),
            date=date,
            files=tuple(_shown(path) for path, *_ in changes),
        )
        change = sum(
            (_digest(path, new_mode, new) if int(new, 16) else 0)
            - (_digest(path, old_mode, old) if int(old, 16) else 0)
            for path, old_mode, new_mode, old, new in changes
            if affects_build(path)
        )
        entries.append(_Entry(logged=logged, change=change))
    return entries


def _changes(tokens: Iterator[str]) -> tuple[list[_Change], str]:
    """What a commit changes, and what stands behind that: the next commit's id, or nothing."""
    changes: list[_Change] = []
    for token in tokens:
        about = token.lstrip("\n")
        if not about.startswith(":"):
            return changes, about
        old_mode, new_mode, old, new, _ = about[1:].split()
        changes.append((next(tokens), old_mode, new_mode, old, new))
    return changes, ""


def _digest(path: str, mode: str, content: str) -> int:
    text = f"{mode} {content} {path}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.sha256(text).digest(), "big")


def _shown_digest(inputs: int) -> str:
    return f"{inputs:064x}"


def _shown(text: str) -> str:
    """A text of anybody's without anything that would not show, or show as something else."""
    shown = printable(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return shown.replace("\n", "\ufffd")  # only a file's name can have one


def _ask(folder: Path, *arguments: str) -> str:
    said = git(folder, *arguments)
    if said is None:
        raise HarnessError(
            f"The history in {folder} cannot be read: git {arguments[0]} failed. If it is a "
            "partial or damaged copy, name another one with --repo URL_OR_FOLDER."
        )
    return said


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

    def releases(
        self, good: Revision, bad: Revision, index: Index, python: Interpreter
    ) -> SearchRange:
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
        return SearchRange(points=(Point(source=first), *points, Point(source=last)))

    def commits(self, good: Revision, bad: Revision, *, all_parents: bool = False) -> SearchRange:
        """The points of the history between two revisions; see ``stretch``.

        A release is where its tag is, which may be a branch of its own. With such a release as the
        good end, the stretch begins where the history of the bad end is the same package, or else
        where the two part. Raises ``UsageError``.
        """
        _require_order(good, bad)
        one, other = (commit_of(_source(end), self.engine, self.repository) for end in (good, bad))
        folder = self.repository.folder()
        if is_ancestor(folder, other, one):
            raise _not_before(good, bad, is_same=one == other)
        start = one
        if not is_ancestor(folder, one, other):
            start = self._fork(good, bad, one, other)
        if is_cut(folder, start, other):
            raise self._shallow()
        affects_build = self.engine.affects_build
        found = stretch(folder, start, other, affects_build, all_parents=all_parents)
        return found if start == one else self._begun_by(found, one, other)

    def inside(self, merge: LoggedCommit) -> SearchRange | None:
        """The points of the branch that a commit merged; the merge is the last.

        The first is where the branch left: not what it was merged with, if that went on meanwhile.
        ``None`` where a commit is not a merge of one branch.
        """
        if len(merge.parents) != 2:
            return None
        folder = self.repository.folder()
        fork = fork_of(folder, *merge.parents)
        if fork is None or fork == merge.parents[1]:
            return None
        return branch(folder, fork, merge, self.engine.affects_build)

    def _tags(self, first: Release | Commit, last: Release | Commit) -> frozenset[str] | None:
        """The tags that ends which are commits leave; ``None`` where neither is one."""
        after = first.commit if isinstance(first, Commit) else None
        before = last.commit if isinstance(last, Commit) else None
        if after is None and before is None:
            return None
        return tags(self.repository.folder(), after, before)

    def _fork(self, good: Revision, bad: Revision, one: str, other: str) -> str:
        """Where the history of the bad end leaves that of the good one. Raises ``UsageError``."""
        folder = self.repository.folder()
        fork = fork_of(folder, one, other)
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

    def _begun_by(self, found: SearchRange, one: str, other: str) -> SearchRange:
        """A stretch from where the history of ``other`` leaves that of ``one``, for the latter."""
        folder, affects_build = self.repository.folder(), self.engine.affects_build
        inputs = inputs_of(folder, one, affects_build)
        for number, point in enumerate(found.points[:-1]):
            if point.inputs == inputs:
                # The tag's branch has what the other one had by then, and nothing else.
                begin = replace(point, source=Commit(one))
                return SearchRange(points=(begin, *found.points[number + 1 :]))
        return replace(found, aside=own_of(folder, one, other))

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
