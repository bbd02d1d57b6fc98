"""Files that are not ours, or were damaged, are refused by name; they never end in a traceback."""

import json
from pathlib import Path

import pytest

from tests.store.keeping import finish, recorded
from waitbench.model.errors import UsageError
from waitbench.store import comparisons


def change(folder: Path, was: str, now: str) -> None:
    path = folder / "comparison.json"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now, 1))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"garbage", b"{}", b"[1]", b"null", b'{"format": 3}', b"\x00\xff", b"[" * 100_000,
        b'{"name": "package", "version": "1.0.0"}', b'{"format": 3, "kind": "bisect"}',
    ],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"comparison\.json' is not a result file of waitbench \("):
        comparisons.read(tmp_path)


@pytest.mark.parametrize(
    "name", ["../../x", "/", "a/b", "", "\0", "\x1b[31m", "\udcff", "x\n", "x" * 250]
)
def test_a_scenario_whose_files_would_be_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    finish(tmp_path, recorded())
    change(tmp_path, '"scenario": "waiting"', f'"scenario": {json.dumps(name)}')
    with pytest.raises(UsageError, match=r"comparison\.json' is not a result file"):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("named", ["4", "2", "-1", '"3"', "3.0", "null", "true", "[3]"])
def test_another_format_is_refused_with_what_to_do(named: str, tmp_path: Path) -> None:
    finish(tmp_path, recorded())
    change(tmp_path, '"format": 3', f'"format": {named}')
    later = r"format 4, .* format 3: use the version that wrote it"
    with pytest.raises(UsageError, match=later if named == "4" else "format"):
        comparisons.read(tmp_path)
