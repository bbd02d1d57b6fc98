"""The index of what folders tell: made once, made anew when a folder changes, safe to lose."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from waitbench.model.errors import UsageError
from waitbench.store.comparisons import COMPARISON_NAME
from waitbench.store.index import Index, find


class Reader:
    """Tells a folder's name, and remembers what it was asked."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, folder: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
        self.read.append(folder.name)
        if (folder / "broken").exists():
            raise UsageError(f"{folder.name} is broken")
        return [("steady", {"name": folder.name}), ("cpu", {"name": "other"})]


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    for name in ("one", "two", "deep/er/three"):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        (folder / COMPARISON_NAME).touch()
    (tmp_path / "results" / "latest").symlink_to("one")
    (tmp_path / "results" / "empty").mkdir()
    return tmp_path / "results"


def told(index: Index, folders: list[Path]) -> list[str]:
    return sorted(one["name"] for one in index.told(folders, ["steady"], lambda *_: None))


def test_folders_are_found_at_any_depth_and_once(roots: Path) -> None:
    found = find([roots, roots / "one"])
    assert sorted(path.name for path in found) == ["one", "three", "two"]


def test_only_what_changed_is_read_again(roots: Path, tmp_path: Path) -> None:
    reader = Reader()
    index = Index(tmp_path / "index.sqlite", reader, "1")
    assert told(index, find([roots])) == ["one", "three", "two"]
    assert told(Index(tmp_path / "index.sqlite", reader, "1"), find([roots])) == [
        "one", "three", "two",
    ]  # fmt: skip
    assert len(reader.read) == 3
    (roots / "one" / "verdict.json").touch()
    assert told(index, find([roots])) == ["one", "three", "two"]
    assert reader.read[3:] == ["one"]
    # What is not asked for is not told, and is not lost.
    assert told(index, [roots / "two"]) == ["two"]
    assert len(reader.read) == 4


def test_a_folder_that_cannot_be_read_is_named_each_time(roots: Path, tmp_path: Path) -> None:
    (roots / "two" / "broken").touch()
    for _ in range(2):
        index = Index(tmp_path / "index.sqlite", Reader(), "1")
        assert told(index, find([roots])) == ["one", "three"]
        assert index.unreadable == {(roots / "two").resolve(): "two is broken"}


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_an_index_that_is_none_or_of_another_version_is_made_anew(
    roots: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(content)
    assert told(Index(path, Reader(), "1"), find([roots])) == ["one", "three", "two"]
    reader = Reader()
    assert told(Index(path, reader, "2"), find([roots])) == ["one", "three", "two"]
    assert len(reader.read) == 3


def test_without_a_place_for_it_it_is_kept_nowhere(roots: Path, tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "index.sqlite"
    assert told(Index(path, Reader(), "1"), find([roots])) == ["one", "three", "two"]
    assert not path.exists()


def test_two_at_once_wait_for_each_other(roots: Path, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    told(Index(path, Reader(), "1"), [roots / "one"])
    with sqlite3.connect(path) as other:
        other.execute("SELECT * FROM told").fetchall()
        assert told(Index(path, Reader(), "1"), find([roots])) == ["one", "three", "two"]
