"""Files that are not ours, or were damaged, are refused by name; they never end in a traceback."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.store.keeping import keep, recorded
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.store import comparisons


@pytest.fixture
def record() -> Record:
    return recorded()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"garbage", b"{}", b"[1]", b"null", b'{"results": [], "metadata": {}}', b"\x00\xff",
        b'{"name": "package", "version": "1.0.0"}', b"[" * 100_000,
        b'{"metadata": {"comparison": {}, "scenario": "x"}}', b'{"metadata": {"format": "2"}}',
        b'{"format": 0, "kind": "load"}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["waiting.json", "comparison.json"])
def test_a_file_that_is_not_ours_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=rf"{name}' is not a result file of waitbench \("):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e300", "1e16", "9" * 400])
def test_what_no_run_can_have_given_is_no_quantity(
    number: str, tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    path = tmp_path / "waiting.json"
    path.write_text(re.sub(r'("value": )1\b', rf"\g<1>{number}", path.read_text()))
    with pytest.raises(UsageError, match=r"waiting\.json' is not a result file of waitbench"):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("name", ["../../x", "/", "a/b", "", "\0", "\x1b[31m", "\udcff", "x" * 250])
def test_a_scenario_whose_files_would_be_elsewhere_is_refused(
    name: str, tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    path = tmp_path / "waiting.json"
    data = json.loads(path.read_text())
    data["metadata"]["scenario"] = name
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="cannot be a file's name"):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("name", ["waiting.samples.csv", "waiting.runs.jsonl"])
def test_a_link_to_a_device_in_place_of_a_file_is_not_read(
    name: str, tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).symlink_to("/dev/null")  # it would be an empty file
    with pytest.raises(UsageError, match=r"is not a result file of waitbench \(it is not a file"):
        comparisons.read(tmp_path)


def test_a_file_whose_name_is_not_utf_8_is_named(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    (tmp_path / "\udcff.json").write_text("garbage")
    with pytest.raises(UsageError, match=r"\\udcff\.json' is not a result file of waitbench"):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("name", ["comparison.json", "waiting.json", "load.json"])
def test_a_file_of_a_later_format_is_refused_with_what_to_do(
    name: str, tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    comparisons.write_document(tmp_path, "load", {})
    path = tmp_path / name
    path.write_text(path.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(UsageError, match=rf"{name}' cannot be read: .* format 3, .* Update wait"):
        comparisons.read(tmp_path)


def test_a_line_within_a_journal_that_is_damaged_is_refused(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    path = tmp_path / "waiting.runs.jsonl"
    head, first, *others = path.read_text().splitlines(keepends=True)
    for damage in ("\n", "{}\n", first[: len(first) // 2] + "\n", "[1]\n"):
        path.write_text("".join([head, damage, *others]))
        with pytest.raises(UsageError, match=r"waiting\.runs\.jsonl' is not a result file"):
            comparisons.read(tmp_path)


def damaged(data: Any) -> Iterator[None]:
    """Changes each value of some JSON in turn to others, and back; takes each key away in turn."""
    keys: Sequence[Any] = list(data) if isinstance(data, dict) else range(len(data))
    for key in keys:
        value = data[key]
        if isinstance(value, (dict, list)):
            yield from damaged(value)
        for other in (None, True, -1, 0.5, "x", [], {}, [None], {"x": None}):
            data[key] = other
            yield
        data[key] = value
        if isinstance(data, dict):
            del data[key]
            yield
            data[key] = value


@pytest.mark.parametrize("name", ["comparison.json", "waiting.json"])
def test_whatever_one_value_is_changed_to_a_file_is_read_or_refused(
    name: str, tmp_path: Path, record: Record
) -> None:
    record.metrics = record.metrics[:4]
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    data = json.loads((tmp_path / name).read_text())
    refused = 0
    for _ in damaged(data):
        (tmp_path / name).write_text(json.dumps(data))
        try:
            comparisons.read(tmp_path)
        except UsageError:
            refused += 1
    assert refused > 100
