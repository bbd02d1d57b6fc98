"""The points of a stretch of history: which commits are one, in which order, and what they say."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.histories import Upstream, at
from waitbench import engines
from waitbench.environments import candidates
from waitbench.model.errors import HarnessError
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


def write_commit(upstream: Upstream, parent: str, author: bytes, more: bytes) -> str:
    """A commit that changes nothing, with bytes in it that git itself would not write."""
    tree = upstream.git("rev-parse", f"{parent}^{{tree}}").encode()
    content = (
        b"tree " + tree + b"\nparent " + parent.encode() + b"\n"
        b"author " + author + b" <m@example.org> 1577836800 +0000\n"
        b"committer M <m@example.org> 1577836800 +0000\n" + more
    )
    command = ["git", "-C", str(upstream.folder), "hash-object", "-t", "commit", "-w", "--stdin"]
    written = subprocess.run(command, input=content, capture_output=True, check=True)
    upstream.git("reset", "--quiet", "--hard", written.stdout.decode().strip())
    return upstream.git("rev-parse", "HEAD")


def stretch(upstream: Upstream, *, all_parents: bool = False) -> SearchRange:
    good, bad = at(upstream.ids["good"]), at(upstream.ids["bad"])
    return upstream.candidates().commits(good, bad, all_parents=all_parents)


def affects_build(path: str) -> bool:
    return engines.named("standin").affects_build(path)


def test_a_point_is_a_commit_that_changes_the_package_with_those_after_it_that_do_not(
    upstream: Upstream,
) -> None:
    found = stretch(upstream)
    assert upstream.subjects(found) == [
        ["good", "more docs"], ["merge early"], ["merge late", "words"], ["bad"],
    ]  # fmt: skip
    measured = [point.source.identity for point in found.points]
    assert measured == [upstream.ids[name] for name in ("good", "merge early", "merge late", "bad")]
    merge = found.points[2].commits[0]
    assert merge.parents == (upstream.ids["merge early"], upstream.ids["late three"])
    assert merge.files == ("docs/late.md", "src/late.rs")
    assert (merge.author, merge.date[:19]) == ("a", "2020-01-01T00:00:00")


def test_all_parents_come_before_their_children_without_what_left_before_the_good_end(
    upstream: Upstream,
) -> None:
    found = stretch(upstream, all_parents=True)
    order = [logged.commit for point in found.points for logged in point.commits]
    assert set(order) == set(upstream.ids.values()) - {
        upstream.ids["root"], upstream.ids["early one"],
    }  # fmt: skip
    for point in found.points:
        for logged in point.commits[1:]:
            known = [parent for parent in logged.parents if parent in order]
            assert all(order.index(one) < order.index(logged.commit) for one in known)


def test_what_was_merged_later_begins_a_stretch_that_leaves_out_what_went_on_beside_it(
    upstream: Upstream,
) -> None:
    good, bad = at(upstream.ids["late one"]), at(upstream.ids["bad"])
    found = upstream.candidates().commits(good, bad)
    assert upstream.subjects(found) == [["late one"], ["merge late", "words"], ["bad"]]
    for point in found.points:
        commit = point.source.identity
        assert candidates.inputs_of(upstream.folder, commit, affects_build) == point.inputs


def test_points_have_equal_inputs_exactly_where_the_files_are_equal(upstream: Upstream) -> None:
    upstream.commit("back", content="good")
    upstream.git("rm", "--quiet", "src/early.rs", "src/late.rs")
    upstream.git("commit", "--quiet", "--message", "removed")
    upstream.ids["bad"] = upstream.git("rev-parse", "HEAD")
    for all_parents in (False, True):
        points = stretch(upstream, all_parents=all_parents).points
        for point in points:
            for logged in point.commits:
                found = candidates.inputs_of(upstream.folder, logged.commit, affects_build)
                assert found == point.inputs, "carried from parent to child, and read from files"
        assert points[0].inputs == points[-1].inputs
        assert points[0].inputs not in [point.inputs for point in points[1:-1]]


def test_a_file_that_becomes_executable_is_another_one(upstream: Upstream) -> None:
    before = upstream.ids["bad"]
    upstream.git("update-index", "--chmod=+x", "src/main.rs")
    upstream.git("commit", "--quiet", "--message", "executable")
    found = upstream.candidates().commits(at(before), at(upstream.git("rev-parse", "HEAD")))
    assert upstream.subjects(found) == [["bad"], ["executable"]]


def test_a_merged_branch_is_searched_from_where_it_left(upstream: Upstream) -> None:
    merge = stretch(upstream).points[2].commits[0]
    inside = upstream.candidates().inside(merge)
    assert inside is not None
    assert upstream.subjects(inside) == [
        ["good"], ["late one", "late two"], ["late three"], ["merge late"],
    ]  # fmt: skip
    assert upstream.candidates().inside(stretch(upstream).points[3].commits[0]) is None


def test_the_merge_of_a_branch_that_nothing_happened_beside_is_one_with_its_last(
    tmp_path: Path,
) -> None:
    made = Upstream(tmp_path / "upstream")
    made.commit("good")
    made.switch("side", "main")
    made.commit("one")
    made.commit("two")
    made.switch("main")
    made.merge("side", "merge")
    outer = made.candidates().commits(at(made.ids["good"]), at(made.ids["merge"]))
    inside = made.candidates().inside(outer.points[-1].commits[0])
    assert inside is not None
    assert made.subjects(inside) == [["good"], ["one"], ["two", "merge"]]
    assert inside.points[-1].inputs == outer.points[-1].inputs


def test_text_of_anybody_is_shown_without_what_is_not_text(upstream: Upstream) -> None:
    author = b"M\xe9 \x1b[31m:100644\tX"
    message = b"\n:100644 \x1b]0;title\x07 \xff\xe2\x80\xae\nsecond\tline\n\nbody\n"
    write_commit(upstream, upstream.ids["bad"], author, message)
    after = upstream.commit("after\nnot the subject", os.fsdecode(b"src/\n:1 \xff\x1b"), "text")
    found = upstream.candidates().commits(at(upstream.ids["bad"]), at(after))
    bad, after_it = found.points
    assert bad.commits[1].author == "M\ufffd \ufffd[31m:100644\tX"
    subject = ":100644 \ufffd]0;title\ufffd \ufffd\ufffd second\tline"
    assert bad.commits[1].subject == subject
    assert after_it.commits[0].files == ("src/\ufffd:1 \ufffd\ufffd",)


def test_the_users_own_settings_of_git_change_nothing(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    write_commit(upstream, upstream.ids["bad"], b"M", signature + b"\nsigned \xc3\xa9\n")
    submodule = f"160000,{upstream.ids['good']},inner"
    upstream.git("update-index", "--add", "--cacheinfo", submodule)
    upstream.git("commit", "--quiet", "--message", "submodule")
    upstream.git("mv", "src/main.rs", "src/moved.rs")
    upstream.git("commit", "--quiet", "--message", "moved")
    ends = upstream.ids["root"], upstream.git("rev-parse", "HEAD")
    before = candidates.stretch(upstream.folder, *ends, affects_build)
    assert before.points[0].commits[0].files == ("src/main.rs",)
    assert before.points[-1].commits[0].files == ("src/main.rs", "src/moved.rs")
    configuration = tmp_path / "gitconfig"
    configuration.write_text(
        "[log]\n\tshowRoot = false\n\tshowSignature = true\n\tdecorate = full\n\tfollow = true\n"
        "[color]\n\tui = always\n[diff]\n\trenames = copies\n\tnoprefix = true\n\trelative = true\n"
        "\tignoreSubmodules = all\n"
        "[i18n]\n\tlogOutputEncoding = UTF-16\n[core]\n\tabbrev = 5\n\tquotePath = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    assert candidates.stretch(upstream.folder, *ends, affects_build) == before
    assert candidates.stretch(upstream.folder / "src", *ends, affects_build) == before


def test_a_history_that_cannot_be_read_is_said_to_be(upstream: Upstream) -> None:
    missing = "0" * 40
    with pytest.raises(HarnessError, match="cannot be read: git rev-list failed"):
        candidates.stretch(upstream.folder, missing, upstream.ids["bad"], affects_build)
