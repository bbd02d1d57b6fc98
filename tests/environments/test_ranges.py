"""What may lie between two revisions, and why there may be nothing to search."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from tests import standin
from tests.histories import Upstream, at, release
from waitbench.engines.base import Engine
from waitbench.environments import ranges, uv
from waitbench.model.errors import UsageError
from waitbench.model.revision import EnvironmentSpec, Interpreter, Origin, SearchRange, Source

PYTHON = Interpreter("/python", "3.11.7")
RELEASES = ("0.11.0", "0.10.0", "0.2.1", "0.2.0", "0.2.0rc1", "0.1.0")


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index with given releases."""

    def releases(
        _engine: Engine, python: Interpreter, within: str, *, prereleases: bool = False
    ) -> Iterator[str]:
        assert python == PYTHON
        return iter(SpecifierSet(within, prereleases=prereleases).filter(RELEASES))

    monkeypatch.setattr(uv, "releases", releases)


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


def test_the_newest_releases_are_none_that_are_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = standin.StandIn()
    newest = [it.identity for it in ranges.newest(engine, PYTHON, 4)]
    assert newest == ["0.2.0", "0.2.1", "0.10.0", "0.11.0"]
    monkeypatch.setattr(standin.StandIn, "oldest", "0.2.1")
    assert [it.identity for it in ranges.newest(engine, PYTHON, 4)] == newest[1:]


def versions(upstream: Upstream, good: EnvironmentSpec, bad: EnvironmentSpec) -> list[str]:
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
    range_ = upstream.commits(release("0.2.1"), release("0.10.0"))
    assert upstream.subjects(range_) == ["two", "three", "four"]
    assert range_.begins_at_fork
    assert not upstream.commits(release("0.1.0"), release("0.10.0")).begins_at_fork


def test_a_commit_that_is_no_ancestor_is_refused_with_where_the_histories_part(
    upstream: Upstream,
) -> None:
    good = at(upstream.ids["only in 0.2.1"], "mine")
    part = upstream.ids["two"][:10]
    with pytest.raises(UsageError, match=f"mine is not an ancestor of main.*Name {part}"):
        upstream.commits(good, at(upstream.ids["five"], "main"))
    with pytest.raises(UsageError, match="no commit in common"):
        upstream.commits(at(upstream.ids["nothing in common"]), good)


@pytest.mark.parametrize(("good", "bad"), [("five", "two"), ("two", "two")])
def test_commits_in_the_wrong_order_are_told(upstream: Upstream, good: str, bad: str) -> None:
    ends = (at(upstream.ids[name], name) for name in (good, bad))
    with pytest.raises(UsageError, match=f"{good} does not come before {bad}: name the older one"):
        upstream.commits(*ends)


@pytest.mark.parametrize(("good", "bad"), [("0.10.0", "0.2.0"), ("0.2.0", "0.2.0")])
def test_releases_in_the_wrong_order_are_told(upstream: Upstream, good: str, bad: str) -> None:
    for search in (upstream.commits, partial(upstream.releases, python=PYTHON)):
        with pytest.raises(UsageError, match=f"r{good} does not come before r{bad}"):
            search(release(good), release(bad))


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


@pytest.fixture
def branching(tmp_path: Path) -> Upstream:
    """``main`` with a merged branch that left before the good end, and one that left after it."""
    made = Upstream(tmp_path / "upstream")
    made.commit("root")
    made.switch("early", "main")
    made.commit("early one", "src/early.rs")
    made.switch("main")
    made.commit("good")
    made.switch("late", "main")
    made.commit("late one", "src/late.rs")
    made.commit("late two", "docs/late.md")
    made.commit("late three", "src/late.rs")
    made.switch("main")
    made.commit("more docs", "docs/guide.md")
    made.merge("early", "merge early")
    made.merge("late", "merge late")
    made.commit("words", "docs/guide.md")
    made.commit("bad")
    return made


def commits(branching: Upstream, good: str = "good", bad: str = "bad") -> SearchRange:
    return branching.commits(at(branching.ids[good]), at(branching.ids[bad]))


def test_points_are_the_commits_along_first_parents_that_change_the_package(
    branching: Upstream,
) -> None:
    range_ = commits(branching)
    assert branching.subjects(range_) == ["good", "merge early", "merge late", "bad"]
    measured = [point.source.identity for point in range_.points]
    assert measured == [
        branching.ids[name] for name in ("good", "merge early", "merge late", "bad")
    ]
    merge = range_.points[2].commit
    assert merge is not None
    assert merge.parents == (branching.ids["merge early"], branching.ids["late three"])
    assert (merge.author, merge.date[:19]) == ("a", "2020-01-01T00:00:00")
    # What was merged later is searched without what went on beside it.
    later = commits(branching, good="late one")
    assert branching.subjects(later) == ["late one", "merge late", "bad"]


def test_text_of_anybody_is_shown_without_what_is_not_text_whatever_git_is_set_to(
    branching: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = branching.git("rev-parse", "HEAD^{tree}")
    content = (
        b"tree %s\nparent %s\nauthor M\xe9 \x1b[31m\tX <m@example.org> 1577836800 +0000\n"
        b"committer M <m@example.org> 1577836800 +0000\n"
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
        b"\n:100644 \x1b]0;title\x07 \xff\xe2\x80\xae\nsecond\tline\n\nbody\n"
    ) % (tree.encode(), branching.ids["bad"].encode())
    command = ["git", "-C", str(branching.folder), "hash-object", "-t", "commit", "-w", "--stdin"]
    written = subprocess.run(command, input=content, capture_output=True, check=True)
    branching.git("reset", "--quiet", "--hard", written.stdout.decode().strip())
    branching.ids["hostile"] = branching.git("rev-parse", "HEAD")
    branching.git("update-index", "--add", "--cacheinfo", f"160000,{branching.ids['good']},inner")
    branching.git("commit", "--quiet", "--message", "submodule")
    branching.ids["submodule"] = branching.git("rev-parse", "HEAD")
    range_ = commits(branching, "hostile", "submodule")
    hostile = range_.points[0].commit
    assert hostile is not None
    assert hostile.author == "M\ufffd \ufffd[31m\tX"
    assert hostile.subject == ":100644 \ufffd]0;title\ufffd \ufffd\ufffd second\tline"
    configuration = tmp_path / "gitconfig"
    configuration.write_text(
        "[log]\n\tshowSignature = true\n\tdecorate = full\n\tfollow = true\n"
        "[color]\n\tui = always\n[diff]\n\tignoreSubmodules = all\n\trelative = true\n"
        "[i18n]\n\tlogOutputEncoding = UTF-16\n[core]\n\tabbrev = 5\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    assert commits(branching, "hostile", "submodule") == range_
    assert branching.subjects(commits(branching, "root", "submodule"))[-1] == "submodule"
