"""Lists the releases, or the commits that change the package, in a range of revisions."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from packaging.version import Version

from waitbench.engines.base import Engine
from waitbench.environments import builds, uv
from waitbench.environments.repository import SHALLOW_HINT, Repository, git, is_shallow, require_git
from waitbench.environments.revisions import tree_of
from waitbench.model.errors import UsageError, sanitize
from waitbench.model.revision import (
    SHOWN_DIGITS,
    EnvironmentSpec,
    Interpreter,
    LoggedCommit,
    Origin,
    Point,
    SearchRange,
    Source,
)

_FIELDS = ("%H", "%P", "%cI", "%an", "%s")
_LOG = (
    "log", "-z", "--reverse", "--topo-order", "--first-parent", "--no-show-signature",
    f"--format={'%x00'.join(_FIELDS)}", "--encoding=UTF-8",
)  # fmt: skip
_UNREADABLE = "The history cannot be read. Name another copy with --repo URL_OR_FOLDER"


def releases(
    engine: Engine, good: EnvironmentSpec, bad: EnvironmentSpec, python: Interpreter
) -> SearchRange:
    """The two revisions and the releases between them, oldest first. Raises ``UsageError``.

    The releases of a Python package are those that can be installed for ``python``.
    """
    if engine.build is not None:
        versions = builds.list_releases(engine)
        begin, end = (versions.index(end.source.identity) for end in (good, bad))
        if begin >= end:
            raise _order_error(good, bad)
        versions = versions[begin + 1 : end]
    else:
        _require_order(good, bad)
        first, last = (Version(end.source.identity) for end in (good, bad))
        # By PEP 440, ">" excludes post-releases of its version, and "<" pre-releases.
        specifiers = f">={first},!={first},<={last},!={last}"
        prereleases = first.is_prerelease or last.is_prerelease
        versions = [*uv.releases(engine, python, specifiers, prereleases=prereleases)][::-1]
    between_ends = (Source(good.source.origin, version) for version in versions)
    sources = (good.source, *between_ends, bad.source)
    points = (Point(label=engine.tag_of(it.identity), source=it) for it in sources)
    return SearchRange(points=tuple(points))


def newest(engine: Engine, python: Interpreter, most: int) -> list[Source]:
    """The newest releases that can be measured, oldest first. Raises ``HarnessError``."""
    if engine.build is not None:
        return [Source(Origin.BUILD, version) for version in builds.list_releases(engine)[-most:]]
    specifiers = f">={engine.oldest}" if engine.oldest else ""
    versions = islice(uv.releases(engine, python, specifiers), most)
    return [Source(Origin.WHEEL, version) for version in versions][::-1]


def commits(
    engine: Engine, repository: Repository | None, good: EnvironmentSpec, bad: EnvironmentSpec
) -> SearchRange:
    """The commits between two revisions, along first parents, that change the package's sources.

    If the good end is a release on another branch, the range begins where that branch forks off.
    Raises ``UsageError``.
    """
    _require_order(good, bad)
    begin, end = (tree_of(spec, engine, repository) for spec in (good, bad))
    folder = begin.repository
    if is_shallow(folder):
        raise UsageError(f"{folder} may lack commits between the ends, {SHALLOW_HINT}")
    start = (git(folder, "merge-base", begin.tree, end.tree) or "").partition("\n")[0]
    if not start:
        raise UsageError(
            f"{good.label} and {bad.label} have no commit in common: there is no history "
            "between them to search."
        )
    if start == end.tree:
        raise _order_error(good, bad)
    if start != begin.tree and good.source.origin is not Origin.WHEEL:
        shown = start[:SHOWN_DIGITS]
        raise UsageError(
            f"{good.label} is not an ancestor of {bad.label}: their histories part at {shown}. "
            f"Name {shown} as the good end, if it is as good as {good.label}."
        )
    # Excludes commits that do not descend from the good end. A single git command with both
    # --ancestry-path and --first-parent would list too few.
    ancestry = ("rev-list", "--ancestry-path", f"{start}..{end.tree}")
    descends = {*require_git(_UNREADABLE, folder, *ancestry).split()}
    first = next(_log(folder, "--no-walk", start))
    logged = _log(folder, f"{start}..{end.tree}", "--", *engine.build_paths)
    later = (commit for commit in logged if commit.commit in descends)
    points = (
        Point(label=it.commit[:SHOWN_DIGITS], source=Source(Origin.SOURCE, it.commit), commit=it)
        for it in (first, *later)
    )
    return SearchRange(points=tuple(points), begins_at_fork=start != begin.tree)


def _log(folder: Path, *arguments: str) -> Iterator[LoggedCommit]:
    """Yields the commits that ``git log`` lists, the oldest first."""
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
    return sanitize(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _require_order(good: EnvironmentSpec, bad: EnvironmentSpec) -> None:
    for end in (good, bad):
        if end.source.origin not in (Origin.WHEEL, Origin.SOURCE):
            raise UsageError(
                f"{end.label} has no place in the history. Name a release, a tag, a branch or a "
                "commit."
            )
    are_releases = good.source.origin is bad.source.origin is Origin.WHEEL
    if are_releases and Version(good.source.identity) >= Version(bad.source.identity):
        raise _order_error(good, bad)


def _order_error(good: EnvironmentSpec, bad: EnvironmentSpec) -> UsageError:
    return UsageError(
        f"{good.label} does not come before {bad.label}: name the older one first, even if the "
        "newer one is better."
    )
