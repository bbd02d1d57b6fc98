"""What is kept of the published tables, remade, and read again."""

import json
from pathlib import Path

import pytest

from tests.families.paged_output.rows import measured
from waitbench.families.paged_output.paging import Paging, keep, kept_paging
from waitbench.model.errors import UsageError
from waitbench.store import comparisons


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    paging = Paging([measured(published_speedup=2.0), measured("passthrough", dropped=7)], 0.01)
    keep(tmp_path, paging)
    data = json.loads((tmp_path / "paging.json").read_text())
    assert (data["format"], data["kind"]) == (2, "paging")
    assert kept_paging(comparisons.read(tmp_path)) == paging


def test_a_folder_without_it_has_nothing(tmp_path: Path) -> None:
    comparisons.write_document(tmp_path, "load", {"modes": {}})
    assert kept_paging(comparisons.read(tmp_path)) is None


@pytest.mark.parametrize("rows", ["7", "[7]", '[{"row": {}}]', '[{"row": {"device": 1}}]'])
def test_a_file_that_is_not_of_this_kind_is_named(tmp_path: Path, rows: str) -> None:
    (tmp_path / "paging.json").write_text(f'{{"format": 2, "idle_share": 0.1, "rows": {rows}}}')
    with pytest.raises(UsageError, match=r"paging\.json' is not a result file of waitbench"):
        kept_paging(comparisons.read(tmp_path))


@pytest.mark.parametrize(
    ("key", "value"), [("regular_s", 0), ("paged_s", -1), ("regular_cpu_s", 1e-300)]
)
def test_what_others_are_divided_by_is_above_zero(tmp_path: Path, key: str, value: float) -> None:
    keep(tmp_path, Paging([measured()], 0.01))
    path = tmp_path / "paging.json"
    data = json.loads(path.read_text())
    data["rows"][0][key] = value
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=rf"Expected `float` >= 1e-09 - at `\$\.rows\[0\]\.{key}`"):
        kept_paging(comparisons.read(tmp_path))


@pytest.mark.parametrize("messages", [0, -1, 0.5])
def test_a_row_has_messages(tmp_path: Path, messages: float) -> None:
    keep(tmp_path, Paging([measured()], 0.01))
    path = tmp_path / "paging.json"
    data = json.loads(path.read_text())
    data["rows"][0]["row"]["messages"] = messages
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"paging\.json' is not a result file of waitbench"):
        kept_paging(comparisons.read(tmp_path))
