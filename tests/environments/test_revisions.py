"""Revisions as they are typed, with what they have besides their code, and where they are found."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from tests import standin
from tests.engines.worker.reading import read
from waitbench import engines
from waitbench.engines.worker import WorkerFileEngine
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import argument_of, resolve, spec_of
from waitbench.model.errors import UsageError
from waitbench.model.revision import Origin, Source

BYTEWAX, STANDIN = engines.DEFAULT, standin.StandIn()


def test_commits_branches_and_tags_resolve_to_full_commit_ids(
    repository: Repository, repository_folder: tuple[Path, dict[str, str]]
) -> None:
    commits = repository_folder[1]
    named = {
        "main": "two",
        "feature/two": "two",
        commits["one"][:7]: "one",
        commits["one"].upper(): "one",
        "HEAD": "two",
        "HEAD~1": "one",
        "main^": "one",
        "main~1^0": "one",
        f"{commits['two'][:9]}~": "one",
        "release-0.0.1~0": "one",
        "origin/main": "two",
    }
    for text, expected in named.items():
        (revision,) = resolve([text], BYTEWAX, repository)
        assert revision.source.origin is Origin.SOURCE
        assert revision.source.identity == commits[expected]


def test_the_same_release_may_be_given_twice_under_two_labels_only(repository: Repository) -> None:
    revisions = resolve(["v0.21.1", "0.21.1", "A=0.21.1"], BYTEWAX, repository)
    assert [revision.label for revision in revisions] == ["v0.21.1", "0.21.1", "A"]
    assert {revision.source for revision in revisions} == {Source(Origin.WHEEL, "0.21.1")}
    with pytest.raises(UsageError, match=r"A=v0\.21\.1 B=v0\.21\.1"):
        resolve(["v0.21.1", "v0.21.1"], BYTEWAX, repository)


def test_a_spec_stays_what_it_is_where_a_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "v0.21.1").mkdir()
    monkeypatch.chdir(tmp_path)
    spec = spec_of("v0.21.1", Source(Origin.WHEEL, "0.21.1"), BYTEWAX)
    assert resolve([spec, "v0.20.1"], BYTEWAX, None)[0] == spec
    with pytest.raises(UsageError, match=r"v0\.21\.1"):
        resolve(["v0.21.1"], BYTEWAX, None)


@pytest.mark.parametrize(
    "text",
    [
        "", "-rf", "--upload-pack=x", "v1; rm -rf /", "$(id)", "`id`", "a b", "a|b", "a&b", "a>b",
        "..", "../x", "a..b", "x'y", 'x"y', "x*", "~", "\n", "a\nb", "abc123", "no-such-branch",
        "deadbeef", "L=", "=v1", "-l=v1", "a;b=v0.16.0", "nothing.whl", "HEAD~9", "main^{tree}",
        "main^-1", "#571",
        "main:pyproject.toml", "@{-1}", "refs/heads/main.lock", "nobody@v0.1", "@",
        "v" + "9" * 5000, "x/" * 2500, "HEAD~99999999999", "v0.16.\udcff", "\x00", "\u202e", "٣",
        "x" * 300 + "=v0.16.0",
    ],
)  # fmt: skip
def test_what_is_not_a_revision_is_a_usage_error(text: str, repository: Repository) -> None:
    with pytest.raises(UsageError):
        resolve([text], BYTEWAX, repository)


def test_a_checkout_is_what_it_is_now_with_uncommitted_changes(
    repository: Repository, tmp_path: Path
) -> None:
    folder = tmp_path / "my checkout"
    standin.write_repository(folder)
    source = folder / "src" / "main.rs"
    standin.git(folder, "config", "core.trustctime", "false")
    os.utime(source, (0, 1))
    standin.git(folder, "add", "--all")
    os.utime(folder / ".git" / "index", (0, 1))

    def tree() -> str:
        (revision,) = resolve([str(folder)], STANDIN, repository)
        assert revision.source.origin is Origin.CHECKOUT
        return revision.source.identity

    committed = tree()
    assert tree() == committed
    source.write_text(source.read_text().swapcase())
    os.utime(source, (0, 1))
    assert tree() != committed, "the same size, and the same time in seconds"
    declared = folder / "pyproject.toml"
    declared.write_text(declared.read_text().replace("stand-in", "Stand_In", 1))
    changed = tree()
    assert changed != committed, "the same package, however it is spelled"
    (folder / "new.txt").write_text("untracked")
    assert tree() not in (changed, committed)


def test_a_folder_that_is_not_a_checkout_is_refused(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a checkout of bytewax"):
        resolve([str(tmp_path)], BYTEWAX, repository)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "else"\n')
    folder = tmp_path / "home"
    standin.write_repository(folder)
    for path in (tmp_path, folder):
        with pytest.raises(UsageError, match="not a checkout of bytewax"):
            resolve([str(path)], BYTEWAX, repository)


def test_a_wheel_is_known_by_its_content_and_refused_if_it_is_misnamed(
    repository: Repository, tmp_path: Path
) -> None:
    path = standin.write_wheel(tmp_path)
    for name in ("other-0.0.1-py3-none-any.whl", "stand_in.whl"):
        (tmp_path / name).write_bytes(path.read_bytes())
        with pytest.raises(UsageError):
            resolve([str(tmp_path / name)], STANDIN, repository)
    (revision,) = resolve([f"L={path}"], STANDIN, repository)
    assert (revision.label, revision.engine) == ("L", "standin")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert revision.source == Source(Origin.FILE, digest, path)


@pytest.mark.parametrize("name", ["new\nline", "\udcff", "\x1b[31m", "\u202e"])
def test_a_folder_whose_name_cannot_be_shown_is_to_be_labelled(
    name: str, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin.write_repository(tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    with pytest.raises(UsageError, match="Label it: LABEL="):
        resolve(["."], STANDIN, repository)
    (revision,) = resolve(["L=."], STANDIN, repository)
    assert revision.label == "L"


def test_a_revision_is_typed_as_it_was_read_or_by_a_wheel_of_it_with_its_label(
    repository: Repository,
) -> None:
    for text in ("main", "A=main", "r0.0.1", "x y=r0.0.1"):
        (revision,) = resolve([text], STANDIN, repository)
        assert resolve([argument_of(revision)], STANDIN, repository) == (revision,)
    assert argument_of(revision, "x/one.whl") == "x y=x/one.whl"
    for name in ("main~0", "main^0"):
        (ancestor,) = resolve([name], BYTEWAX, repository)
        with pytest.raises(UsageError, match=r"no wheel file 'x/one\.whl'"):
            resolve([argument_of(ancestor, "x/one.whl")], BYTEWAX, repository)


@pytest.mark.parametrize(
    ("name", "version"),
    [("2.2.0", "2.2.0"), ("v2.2.0", "2.2.0"), ("v20231228", "20231228"), ("main", None)]
    + [(commit, None) for commit in ("4a12345", "1234567", "12c3456", "123456a")],
)
def test_seven_hex_digits_or_more_are_a_commit_also_if_they_look_like_a_version(
    name: str, version: str | None, tmp_path: Path
) -> None:
    engine = WorkerFileEngine(read(tmp_path, "package = 'x'\ncommand = 'x'\n"))
    assert engine.version_of(name) == version


def test_a_release_from_before_the_oldest_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "bytewax-0.15.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("bytewax-0.15.1.dist-info/METADATA", "Name: bytewax")
    for text in ("v0.15.1", "0.10.0", "old=v0.15.1", f"{wheel}"):
        with pytest.raises(UsageError, match=r"^bytewax 0\.1.* is too old: 0\.16\.0 is the oldest"):
            resolve([text], BYTEWAX, None)
