"""Revisions and where they are looked up."""

import hashlib
from pathlib import Path

import pytest

from tests import standin
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import Checkout, Commit, Release, WheelFile, resolve
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache


@pytest.mark.parametrize("text", ["v0.16.0", "0.16.0"])
def test_a_version_with_or_without_v_is_a_release(text: str, repository: Repository) -> None:
    (revision,) = resolve([text], repository)
    assert (revision.label, revision.source) == (text, Release("0.16.0"))


def test_commits_branches_and_tags_resolve_to_full_commit_ids(
    repository: Repository, repository_folder: tuple[Path, dict[str, str]]
) -> None:
    commits = repository_folder[1]
    named = {"main": "two", "feature/two": "two", commits["one"][:7]: "one", commits["one"].upper(): "one"}
    for text, expected in named.items():
        (revision,) = resolve([text], repository)
        assert isinstance(revision.source, Commit)
        assert revision.source.commit == commits[expected]


def test_the_same_revision_may_be_given_twice_under_two_labels_only(repository: Repository) -> None:
    first, second = resolve(["A=v0.21.1", "B=v0.21.1"], repository)
    assert (first.label, second.label, first.source) == ("A", "B", second.source)
    with pytest.raises(UsageError, match=r"A=v0\.21\.1 B=v0\.21\.1"):
        resolve(["v0.21.1", "v0.21.1"], repository)


@pytest.mark.parametrize(
    "text",
    [
        "", "-rf", "--upload-pack=x", "v1; rm -rf /", "$(id)", "`id`", "a b", "a|b", "a&b", "a>b", "..", "../x", "a..b",
        "x'y", 'x"y', "x*", "~", "\n", "a\nb", "abc123", "no-such-branch", "deadbeef", "L=", "=v1", "-l=v1", "a;b=v0.16.0",
        "nothing.whl", "HEAD~1", "main^{tree}", "main:pyproject.toml", "@{-1}", "refs/heads/main.lock",
    ],
)  # fmt: skip
def test_what_is_no_revision_is_a_usage_error(text: str, repository: Repository) -> None:
    with pytest.raises(UsageError):
        resolve([text], repository)


def test_no_revision_is_a_usage_error_with_an_example(repository: Repository) -> None:
    with pytest.raises(UsageError, match=r"\./compare\.sh"):
        resolve([], repository)


def test_a_checkout_is_what_it_is_now_with_uncommitted_changes(repository: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "my checkout"
    standin.write_repository(folder)

    def fingerprint() -> str:
        (revision,) = resolve([str(folder)], repository)
        assert isinstance(revision.source, Checkout)
        return revision.source.fingerprint

    committed = fingerprint()
    assert fingerprint() == committed
    (folder / "src" / "main.rs").write_text("fn main() {}\n")
    changed = fingerprint()
    (folder / "new.txt").write_text("untracked")
    assert len({committed, changed, fingerprint()}) == 3
    (folder / ".gitignore").write_text("ignored.txt\n")
    with_ignore = fingerprint()
    (folder / "ignored.txt").write_text("ignored")
    assert fingerprint() == with_ignore


def test_a_folder_that_is_no_checkout_is_refused(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a bytewax checkout"):
        resolve([str(tmp_path)], repository)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "else"\n')
    with pytest.raises(UsageError, match="not a bytewax checkout"):
        resolve([str(tmp_path)], repository)


def test_a_wheel_is_known_by_its_content(repository: Repository, tmp_path: Path) -> None:
    path = standin.write_wheel(tmp_path)
    (revision,) = resolve([f"L={path}"], repository)
    assert revision.source == WheelFile(path, hashlib.sha256(path.read_bytes()).hexdigest())


def test_broken_wheels_are_refused(repository: Repository, tmp_path: Path) -> None:
    good = standin.write_wheel(tmp_path)
    broken = tmp_path / "bytewax-0.0.2-py3-none-any.whl"
    broken.write_bytes(good.read_bytes()[:100])
    other = tmp_path / "other-0.0.1-py3-none-any.whl"
    other.write_bytes(good.read_bytes())
    misnamed = tmp_path / "bytewax.whl"
    misnamed.write_bytes(good.read_bytes())
    for path in (broken, other, misnamed):
        with pytest.raises(UsageError):
            resolve([str(path)], repository)


def test_a_repository_by_url_is_cloned_once_and_fetched_for_unknown_names(tmp_path: Path) -> None:
    folder = tmp_path / "upstream"
    standin.write_repository(folder)
    said: list[str] = []
    repository = Repository(folder.as_uri(), Cache(tmp_path / "cache"), said.append)
    assert repository.find_commit("main") == standin.git(folder, "rev-parse", "main")
    assert repository.find_commit("v0.0.1") is not None
    assert len(said) == 1
    standin.git(folder, "branch", "later")
    assert repository.find_commit("later") == standin.git(folder, "rev-parse", "later")
    assert len(said) == 2


@pytest.mark.parametrize("location", ["", "-x", "--upload-pack=touch x", "no/such/folder", "ext::sh -c id", "https://-x"])
def test_a_repository_must_be_a_folder_or_a_url(location: str, cache: Cache) -> None:
    with pytest.raises(UsageError):
        Repository(location, cache)


def test_exported_files_have_the_time_of_now_not_of_the_commit(
    repository: Repository, repository_folder: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "marker").touch()
    before = (tmp_path / "marker").stat().st_mtime
    (tmp_path / "out").mkdir()
    repository.export(repository_folder[1]["one"], tmp_path / "out")
    assert (tmp_path / "out" / "src" / "main.rs").stat().st_mtime >= before - 1
