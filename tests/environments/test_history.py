"""The commits between two revisions: which there are, in which order, and how they are shown."""

import subprocess
from pathlib import Path

import pytest

from tests.histories import Upstream, at
from waitbench.model.revision import SearchRange


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """``main`` with a merged branch that left before the good end, and one that left after it."""
    made = Upstream(tmp_path_factory.mktemp("git") / "upstream")
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


@pytest.fixture
def upstream(written: Upstream, tmp_path: Path) -> Upstream:
    """A copy of it, for one test."""
    return written.copy(tmp_path / "upstream")


def commits(upstream: Upstream, good: str = "good", bad: str = "bad") -> SearchRange:
    return upstream.commits(at(upstream.ids[good]), at(upstream.ids[bad]))


def test_points_are_the_commits_along_first_parents_that_change_the_package(
    upstream: Upstream,
) -> None:
    found = commits(upstream)
    assert upstream.subjects(found) == ["good", "merge early", "merge late", "bad"]
    measured = [point.source.identity for point in found.points]
    assert measured == [upstream.ids[name] for name in ("good", "merge early", "merge late", "bad")]
    merge = found.points[2].commit
    assert merge is not None
    assert merge.parents == (upstream.ids["merge early"], upstream.ids["late three"])
    assert (merge.author, merge.date[:19]) == ("a", "2020-01-01T00:00:00")
    # What was merged later is searched without what went on beside it.
    later = commits(upstream, good="late one")
    assert upstream.subjects(later) == ["late one", "merge late", "bad"]


def test_a_file_that_becomes_executable_is_a_change(upstream: Upstream) -> None:
    upstream.git("update-index", "--chmod=+x", "src/main.rs")
    upstream.git("commit", "--quiet", "--message", "executable")
    upstream.ids["executable"] = upstream.git("rev-parse", "HEAD")
    found = commits(upstream, "bad", "executable")
    assert upstream.subjects(found) == ["bad", "executable"]


def test_text_of_anybody_is_shown_without_what_is_not_text_whatever_git_is_set_to(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = upstream.git("rev-parse", "HEAD^{tree}")
    content = (
        b"tree %s\nparent %s\nauthor M\xe9 \x1b[31m\tX <m@example.org> 1577836800 +0000\n"
        b"committer M <m@example.org> 1577836800 +0000\n"
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
        b"\n:100644 \x1b]0;title\x07 \xff\xe2\x80\xae\nsecond\tline\n\nbody\n"
    ) % (tree.encode(), upstream.ids["bad"].encode())
    command = ["git", "-C", str(upstream.folder), "hash-object", "-t", "commit", "-w", "--stdin"]
    written = subprocess.run(command, input=content, capture_output=True, check=True)
    upstream.git("reset", "--quiet", "--hard", written.stdout.decode().strip())
    upstream.ids["hostile"] = upstream.git("rev-parse", "HEAD")
    upstream.git("update-index", "--add", "--cacheinfo", f"160000,{upstream.ids['good']},inner")
    upstream.git("commit", "--quiet", "--message", "submodule")
    upstream.ids["submodule"] = upstream.git("rev-parse", "HEAD")
    found = commits(upstream, "hostile", "submodule")
    hostile = found.points[0].commit
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
    assert commits(upstream, "hostile", "submodule") == found
    assert upstream.subjects(commits(upstream, "root", "submodule"))[-1] == "submodule"
