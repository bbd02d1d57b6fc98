"""Two revisions -> what lies between them: releases, or the commits that change the package."""

from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from waitbench.engines.base import Engine
from waitbench.environments import index
from waitbench.environments.repository import SHALLOW_HINT, Repository, git, is_shallow, require_git
from waitbench.environments.revisions import tree_of
from waitbench.model.environment import Interpreter
from waitbench.model.errors import UsageError
from waitbench.model.revision import LoggedCommit, Origin, Point, Revision, SearchRange, Source
from waitbench.system.streams import printable

_FIELDS = ("%H", "%P", "%cI", "%an", "%s")
_LOG = (
    "log", "-z", "--reverse", "--topo-order", "--first-parent", "--no-show-signature",
    f"--format={'%x00'.join(_FIELDS)}", "--encoding=UTF-8",
)  # fmt: skip
"""Whatever the user has set for reading."""
_UNREADABLE = "The history cannot be read. Name another copy with --repo URL_OR_FOLDER"
_SHOWN_DIGITS = 12


def releases(engine: Engine, good: Revision, bad: Revision, python: Interpreter) -> SearchRange:
    """The releases from one to another that have a wheel for a Python, by version.

    Pre-releases only if an end is one. Raises ``UsageError``.
    """
    _require_order(good, bad)
    ends = [Version(one.source.identity) for one in (good, bad)]
    # Not "> and <": these leave out post-releases of the one, and pre-releases of the other.
    between = f">={ends[0]},!={ends[0]},<={ends[1]},!={ends[1]}"
    early = any(one.is_prerelease for one in ends)
    found = index.releases(engine, python, between, prereleases=early)
    inside = [Source(Origin.WHEEL, version) for version in found][::-1]
    return SearchRange(
        points=tuple(Point(source=one) for one in (good.source, *inside, bad.source))
    )


def commits(
    engine: Engine, repository: Repository | None, good: Revision, bad: Revision
) -> SearchRange:
    """The commits from one revision to another that change what the package is built from.

    They are along first parents: each is what became of the one before by one commit, or by one
    merge. A release is where its tag is, which may be a branch of its own; the range then
    begins where the two histories part. Raises ``UsageError``.
    """
    _require_order(good, bad)
    ends = [tree_of(end, engine, repository) for end in (good, bad)]
    folder, one, other = ends[0].repository, ends[0].tree, ends[1].tree
    if is_shallow(folder):
        raise UsageError(f"{folder} may lack commits between the ends, {SHALLOW_HINT}")
    start = (git(folder, "merge-base", one, other) or "").partition("\n")[0]
    if not start:
        raise UsageError(
            f"{good.label} and {bad.label} have no commit in common: there is no history "
            "between them to search."
        )
    if start == other:
        raise _not_before(good, bad)
    if start != one and good.source.origin is not Origin.WHEEL:
        shown = start[:_SHOWN_DIGITS]
        raise UsageError(
            f"{good.label} is not an ancestor of {bad.label}: their histories part at {shown}. "
            f"Name {shown} as the good end, if it is as good as {good.label}."
        )
    # What does not descend from the good end was not made of it. With --ancestry-path and
    # --first-parent at once, git finds too little.
    ancestry = ("rev-list", "--ancestry-path", f"{start}..{other}")
    descends = {*require_git(_UNREADABLE, folder, *ancestry).split()}
    first = next(_log(folder, "--no-walk", start))
    logged = _log(folder, f"{start}..{other}", "--", *engine.build_paths)
    later = (one for one in logged if one.commit in descends)
    return SearchRange(
        points=tuple(
            Point(source=Source(Origin.SOURCE, c.commit), commit=c) for c in (first, *later)
        ),
        begins_at_fork=start != one,
    )


def _log(folder: Path, *arguments: str) -> Iterator[LoggedCommit]:
    """The commits that ``git log`` lists, oldest first."""
    tokens = iter(require_git(_UNREADABLE, folder, *_LOG, *arguments).split("\0"))
    for commit in filter(None, tokens):
        parents, date, author, subject = (next(tokens) for _ in _FIELDS[1:])
        yield LoggedCommit(
            commit=commit,
            parents=tuple(parents.split()),
            subject=_shown(subject),
            author=_shown(author),
            date=date,
        )


def _shown(text: str) -> str:
    """Anybody's text without anything that would not show, or show as something else."""
    return printable(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _require_order(good: Revision, bad: Revision) -> None:
    for end in (good, bad):
        if end.source.origin not in (Origin.WHEEL, Origin.SOURCE):
            raise UsageError(
                f"{end.label} has no place in the history. Name a release, a tag, a branch or a "
                "commit."
            )
    are_releases = good.source.origin is bad.source.origin is Origin.WHEEL
    if are_releases and Version(good.source.identity) >= Version(bad.source.identity):
        raise _not_before(good, bad)


def _not_before(good: Revision, bad: Revision) -> UsageError:
    return UsageError(
        f"{good.label} does not come before {bad.label}: name the older one first, even if the "
        "newer one is better."
    )
