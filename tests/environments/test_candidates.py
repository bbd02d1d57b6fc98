"""What may lie between two revisions, and why there may be nothing to search."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests import standin
from tests.histories import Upstream, at, release
from waitbench.engines.base import Engine
from waitbench.environments import index
from waitbench.model.environment import Interpreter
from waitbench.model.errors import UsageError
from waitbench.model.revision import Origin, Revision, Source

PYTHON = Interpreter("/python", "3.11.7")
RELEASES = ("0.11.0", "0.10.0", "0.2.1", "0.2.0", "0.2.0rc1", "0.1.0")


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index with given releases."""

    def releases(
        _engine: Engine, python: Interpreter, within: str, *, prereleases: bool
    ) -> Iterator[str]:
        assert python == PYTHON
        return iter(SpecifierSet(within, prereleases=prereleases).filter(RELEASES))

    monkeypatch.setattr(index, "releases", releases)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """Releases 0.1.0 and 0.10.0 on ``main``; 0.2.0 and 0.2.1 on branches of their own."""
    made = Upstream(tmp_path_factory.mktemp("git") / "upstream")
    made.commit("one")
    made.git("tag", "--annotate", "--message", "first", "release-0.1.0")
    made.commit("two")
    made.commit("three", content="3")
    made.switch("release", made.ids["two"])
    made.commit("three for 0.2.0", content="3")
    made.git("tag", "release-0.2.0")
    made.commit("only in 0.2.1", "src/fix.rs")
    made.git("tag", "release-0.2.1")
    made.switch("main")
    made.commit("four")
    made.git("tag", "release-0.10.0")
    made.commit("five")
    made.git("checkout", "--quiet", "--orphan", "unrelated")
    made.commit("nothing in common")
    return made


def versions(upstream: Upstream, good: Revision, bad: Revision) -> list[str]:
    points = upstream.releases(good, bad, PYTHON).points
    assert [points[0].source, points[-1].source] == [good.source, bad.source]
    return [point.source.identity for point in points[1:-1]]


def test_releases_between_two_are_those_of_the_index_early_ones_only_if_an_end_is_one(
    upstream: Upstream,
) -> None:
    assert versions(upstream, release("0.1.0"), release("0.11.0")) == ["0.2.0", "0.2.1", "0.10.0"]
    assert versions(upstream, release("0.2.0"), release("0.2.1")) == []
    assert versions(upstream, release("0.1.0rc1"), release("0.2.0")) == ["0.1.0", "0.2.0rc1"]


def test_a_release_on_a_branch_of_its_own_is_searched_from_where_that_left(
    upstream: Upstream,
) -> None:
    found = upstream.commits(release("0.2.1"), release("0.10.0"))
    assert upstream.subjects(found) == ["two", "three", "four"]
    assert found.begins_at_fork
    assert not upstream.commits(release("0.1.0"), release("0.10.0")).begins_at_fork


def test_a_commit_that_is_no_ancestor_is_refused_with_where_the_histories_part(
    upstream: Upstream,
) -> None:
    good = at(upstream.ids["only in 0.2.1"], "mine")
    part = upstream.ids["two"][:12]
    with pytest.raises(UsageError, match=f"mine is not an ancestor of main.*Name {part}"):
        upstream.commits(good, at(upstream.ids["five"], "main"))
    with pytest.raises(UsageError, match="no commit in common"):
        upstream.commits(at(upstream.ids["nothing in common"]), good)


@pytest.mark.parametrize(
    ("good", "bad", "why"),
    [
        ("five", "two", "five does not come before two: name the older one first"),
        ("two", "two", "two does not come before two"),
        ("0.10.0", "0.2.0", "r0.10.0 does not come before r0.2.0"),
        ("0.2.0", "0.2.0", "r0.2.0 does not come before r0.2.0"),
    ],
)
def test_ends_in_the_wrong_order_are_told(
    upstream: Upstream, good: str, bad: str, why: str
) -> None:
    ends = [
        at(upstream.ids[name], name) if name in upstream.ids else release(name)
        for name in (good, bad)
    ]
    with pytest.raises(UsageError, match=why):
        upstream.commits(*ends)
    if ends[0].source.origin is Origin.WHEEL:
        with pytest.raises(UsageError, match=why):
            versions(upstream, *ends)


def test_an_end_without_a_place_in_the_history_is_told(upstream: Upstream) -> None:
    with pytest.raises(UsageError, match=r"no commit, .* 'release-0\.11\.0'\. .*--tags"):
        upstream.commits(release("0.1.0"), release("0.11.0"))
    wheel = replace(at("mine"), source=Source(Origin.FILE, "", Path("w.whl")))
    with pytest.raises(UsageError, match="mine has no place in the history"):
        upstream.commits(wheel, release("0.1.0"))


def test_a_history_that_was_cut_off_is_not_searched(upstream: Upstream, tmp_path: Path) -> None:
    options = ("--quiet", "--depth=2", "--branch=main", "--no-single-branch")
    standin.git(tmp_path, "clone", *options, upstream.folder.as_uri(), "clone")
    four, five = (at(upstream.ids[name]) for name in ("four", "five"))
    with pytest.raises(UsageError, match=r"shallow clone.*--unshallow"):
        Upstream(tmp_path / "clone").commits(four, five)
