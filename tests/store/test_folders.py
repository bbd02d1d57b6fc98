"""Folders of comparisons: nothing is ever overwritten, nothing of anybody else's is touched."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records import make_record
from tests.store.keeping import begin
from waitbench.model.errors import UsageError
from waitbench.store import comparisons, folders, formats
from waitbench.store.folders import LATEST, claimed, existing_folder
from waitbench.system import shutdown


def fresh(store: Path, *labels: str) -> Path:
    with claimed(None, labels, store=store) as folder:
        return folder


def resumed(requested: Path | None, store: Path) -> Path:
    with claimed(requested, ["b"], store=store, resumable=comparisons.read_begun) as folder:
        return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@settings(max_examples=100)
@given(st.lists(st.text(max_size=100), min_size=1, max_size=9))
def test_whatever_the_labels_are_the_folder_is_in_the_store_and_its_name_is_short(
    labels: list[str],
) -> None:
    with TemporaryDirectory() as name:
        folder = fresh(Path(name), *labels)
        assert (folder.parent, folder.is_dir()) == (Path(name), True)
        assert re.match(r"\d{8}T\d{6}Z", folder.name)
        assert len(folder.name.encode()) < 200
        assert fresh(Path(name), "a/../../b", "./c", "d e\n").name[17:] == "a-..-..-b-c-d-e"


def test_many_claims_at_once_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        folders = list(pool.map(lambda _: fresh(tmp_path, "a"), range(64)))
    assert len(set(folders)) == 64
    assert (tmp_path / LATEST).resolve() in folders


def test_latest_leads_to_the_last_and_moves_with_the_store(tmp_path: Path) -> None:
    for label in ("a", "b"):
        folder = fresh(tmp_path / "results", label)
        assert existing_folder(None, store=tmp_path / "results") == folder
    moved = (tmp_path / "results").rename(tmp_path / "moved")
    assert existing_folder(None, store=moved) == moved / folder.name
    assert not [path for path in moved.iterdir() if path.name.startswith(".")]


def test_a_folder_of_somebody_elses_called_latest_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / LATEST).mkdir()
    with pytest.raises(UsageError, match="latest' is not a link that waitbench made"):
        fresh(tmp_path, "a")
    assert [path.name for path in tmp_path.iterdir()] == [LATEST]


def test_a_requested_folder_that_holds_anything_is_refused_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "photo.png").write_bytes(b"photo")
    before = contents(tmp_path)
    with (
        pytest.raises(UsageError, match="is not empty, and nothing in it is overwritten"),
        claimed(tmp_path, ["v1"]),
    ):
        pass
    with pytest.raises(UsageError, match="has nothing to resume"):
        resumed(tmp_path, tmp_path)
    assert contents(tmp_path) == before


def test_what_was_made_for_nothing_is_taken_away_and_no_more(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    with (
        pytest.raises(UsageError, match="File name too long"),
        claimed(there / "a" / "b" / ("x" * 300)),
    ):
        pass
    assert list(there.iterdir()) == []
    with pytest.raises(RuntimeError), claimed(there / "a" / "b"):
        (there / "a" / "kept").touch()
        raise RuntimeError
    assert [path.name for path in (there / "a").iterdir()] == ["kept"]
    (there / "a" / "kept").unlink()
    with pytest.raises(RuntimeError), claimed(there / "a"):
        raise RuntimeError
    assert (there / "a").is_dir()


@pytest.mark.parametrize("error", [RuntimeError, shutdown.Interrupted])
def test_a_new_folder_that_stays_empty_goes_with_its_link(
    error: type[BaseException], tmp_path: Path
) -> None:
    """Whether an environment cannot be made, or its making is interrupted."""
    store = tmp_path / "results"
    with pytest.raises(error), claimed(None, store=store):
        raise error
    assert not store.exists()
    first = fresh(store, "a")
    with pytest.raises(error), claimed(None, store=store):
        raise error
    assert (existing_folder(None, store=store), sorted(store.iterdir())) == (
        first, [first, store / LATEST],
    )  # fmt: skip


def test_a_latest_whose_folder_was_deleted_is_none(tmp_path: Path) -> None:
    fresh(tmp_path, "a").rmdir()
    with pytest.raises(UsageError, match="no results yet"):
        existing_folder(None, store=tmp_path)
    assert resumed(None, tmp_path).name.endswith("Z-b")


def test_a_comparison_is_resumed_without_runs_too_and_what_another_command_left_is_not(
    tmp_path: Path,
) -> None:
    folder = fresh(tmp_path)
    formats.write(folder, "load", {"modes": {}})
    for requested in (None, folder):
        with pytest.raises(UsageError, match="has nothing to resume"):
            resumed(requested, tmp_path)
    begin(folder, [make_record({"a": []})])
    assert resumed(folder, tmp_path) == resumed(None, tmp_path) == folder


def test_a_second_comparison_is_kept_out_by_whatever_path_it_comes(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    (tmp_path / "link").symlink_to(folder)
    with claimed(folder):
        for same in (folder, tmp_path / "other" / ".." / "results", tmp_path / "link"):
            with (
                pytest.raises(UsageError, match="Another comparison is writing to"),
                claimed(same),
            ):
                pass
        with claimed(tmp_path / "other"):
            pass
    with claimed(folder):
        assert contents(folder) == {}


def test_halves_of_files_go_once_the_folder_is_known_to_be_ours(tmp_path: Path) -> None:
    half = tmp_path / ".runs.csv.7-7.part"
    half.touch()
    with pytest.raises(UsageError, match="is not empty"), claimed(tmp_path):
        pass
    assert half.exists()
    begin(tmp_path, [make_record({"a": []})])
    resumed(tmp_path, tmp_path)
    assert not half.exists()


def test_a_link_in_place_of_a_folder_within_results_is_refused_and_not_followed(
    tmp_path: Path,
) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "1-releases").symlink_to("victim")
    with pytest.raises(UsageError, match="is a link"):
        folders.make_subfolder(tmp_path / "1-releases")
    folders.make_subfolder(tmp_path / "2-commits")
    folders.make_subfolder(tmp_path / "2-commits")
