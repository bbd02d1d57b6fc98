"""Comparisons <-> folders. Every finished run is on the disk before the next one starts.

While a comparison is measured, its runs are lines of a journal for each scenario; when it is
finished, they are in ``<scenario>.json``. A reader takes both, the journal last, so that it does
not matter where between the two a crash falls.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record
from waitbench.model.run import NOT_BUILT, Result
from waitbench.store import csv_files, journal
from waitbench.store.exports import plain_export, read_export
from waitbench.store.formats import FORMAT, format_of, plain_comparison, read_comparison
from waitbench.store.plain import Plain, parse, reading
from waitbench.system import files
from waitbench.system.installation import called

COMPARISON_NAME = "comparison.json"
MEASURE_FIRST = f"Measure first: {called('compare')} v0.16.0 v0.16.1"

_NOTHING_WITHOUT = (
    f"{COMPARISON_NAME} says which revisions, machine and settings the runs of a folder are of, so "
    "without it none of them counts. Put a copy of it back, or measure into another folder."
)
_RESERVED = ("comparison", "verdict")
"""Stems of files that are no scenario's, in a folder that holds scenarios."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a results folder holds."""

    folder: Path
    context: Context | None = None
    """``None`` where nothing was compared."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else the comparison was begun with; see ``begin``."""
    records: Sequence[Record] = ()
    """In the order in which the comparison began them."""
    documents: Mapping[str, Plain] = field(default_factory=dict)
    """The content of all other JSON files, such as a verdict, by name without the suffix."""
    lost: Sequence[str] = ()
    """Why some of its files cannot be read, and what to do."""
    rebuilt: Sequence[str] = ()
    """What was read from a journal, as the scenario's own file is damaged."""


def begin(folder: Path, context: Context, settings: Mapping[str, object] | None = None) -> None:
    """Writes what holds for a whole comparison; ``settings`` are plain data for who reads it.

    Raises ``HarnessError`` when the disk refuses.
    """
    _write_json(folder / COMPARISON_NAME, plain_comparison(context, settings or {}))


def append(folder: Path, record: Record, result: Result) -> None:
    """Keeps one run of a scenario. A later result of the same run replaces the earlier one.

    The run is on the disk when this returns, and the cost does not depend on the runs before it.
    Raises ``HarnessError`` when the disk refuses.
    """
    journal.append(_journal_path(folder, record), record, result)


def finish(folder: Path, records: Sequence[Record]) -> None:
    """Writes the files that people and their tools read, then removes the journals.

    Raises ``HarnessError`` when the disk refuses; what was kept before is still there then.
    """
    for record in records:
        _write_json(_export_path(folder, record), plain_export(record))
        csv_files.write_samples(folder, record)
    given = {record.scenario: record for record in records}
    # A comparison that was resumed for some of its scenarios keeps the rows of the others.
    all_of_them = [given.get(record.scenario, record) for record in resume(folder).records]
    csv_files.write_runs(folder, all_of_them)
    for record in records:
        _journal_path(folder, record).unlink(missing_ok=True)


def write_document(folder: Path, name: str, content: Mapping[str, object]) -> None:
    """Writes a JSON file beside those of the scenarios; ``name`` is its kind and its file's stem.

    Raises ``HarnessError`` when the disk refuses.
    """
    _write_json(folder / f"{name}.json", {"format": FORMAT, "kind": name, **content})


def read(folder: Path) -> Contents:
    """Whatever there is in a results folder.

    Raises ``UsageError`` where there is nothing, or a file that is not one of ours.
    """
    if not files.is_folder(folder):
        raise UsageError(f"There is no folder {str(folder)!r}. {MEASURE_FIRST}")
    contents = resume(folder)
    if not contents.records and not contents.documents:
        raise UsageError(f"{str(folder)!r} holds no results. {MEASURE_FIRST}")
    return contents


def resume(folder: Path) -> Contents:
    """What ``read`` gives, but a comparison that has no run yet, or was not begun, is no error.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    contents = salvage(folder)
    for why in contents.lost:
        raise UsageError(why)
    return contents


def salvage(folder: Path) -> Contents:
    """What ``resume`` gives, but of files that are damaged it is only said.

    Raises ``UsageError`` where the one that the others need cannot be read.
    """
    context, settings = _read_comparison(folder / COMPARISON_NAME)
    # Before the files that take their place: a comparison may be finished while it is read.
    damaged: dict[Path, UsageError] = {}
    journalled = list(_read_journals(folder, context, damaged))
    records, documents = _read_files(folder, context, damaged)
    rebuilt = []
    for newer in journalled:
        path = _export_path(folder, newer)
        if path in damaged and files.is_file(path):
            rebuilt.append(
                f"{damaged.pop(path)} Its journal is whole, and {len(newer.measurements)} "
                "measurements are taken from there; what an earlier session measured is lost."
            )
        older = records.get(newer.scenario)
        records[newer.scenario] = newer if older is None else journal.joined(older, newer)
    return Contents(
        folder=folder,
        context=context,
        settings=settings,
        records=tuple(sorted(records.values(), key=_first_start)),
        documents=documents,
        lost=[_with_advice(error) for error in damaged.values()],
        rebuilt=rebuilt,
    )


def of_memory(folder: Path, records: Sequence[Record]) -> Contents:
    """What ``read`` gives of a comparison that was just finished, without reading it back."""
    # A coarse scenario may have a topology of its own.
    in_order = sorted(records, key=lambda record: record.coarse)
    context = in_order[0].context if in_order else None
    return Contents(folder=folder, context=context, records=tuple(records))


def _with_advice(error: UsageError) -> str:
    if isinstance(error.__cause__, UsageError):
        return str(error)
    return (
        f"{error} Put a copy of it back, or move it away: then the rest can be read, and --resume "
        "measures anew what it held."
    )


def _read_comparison(path: Path) -> tuple[Context | None, Mapping[str, object]]:
    if not path.exists():
        return None, {}
    try:
        with reading(path):
            data = parse(path.read_bytes())
            format_of(data)
            return read_comparison(data)
    except UsageError as error:
        if isinstance(error.__cause__, UsageError):
            raise
        raise UsageError(f"{error} {_NOTHING_WITHOUT}") from error


def _read_files(
    folder: Path, context: Context | None, damaged: dict[Path, UsageError]
) -> tuple[dict[str, Record], dict[str, Plain]]:
    """The records of a folder by scenario, and its documents by name."""
    records, documents = {}, {}
    for path in sorted(folder.glob("*.json")):
        if path.name == COMPARISON_NAME:
            continue
        try:
            with reading(path):
                data = parse(path.read_bytes())
                record = _read_record(data, context)
            if record is None:
                documents[path.stem] = data
            else:
                csv_files.add_samples(folder, record)
                records[record.scenario] = record
        except UsageError as error:
            damaged[path] = error
    return records, documents


def _read_record(data: Plain, context: Context | None) -> Record | None:
    """The record in a file; ``None`` where it holds a document."""
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and "format" in metadata:
        format_of(metadata)
        return read_export(data, _needed(context))
    format_of(data)
    return None


def _read_journals(
    folder: Path, context: Context | None, damaged: dict[Path, UsageError]
) -> Iterator[Record]:
    for path in sorted(folder.glob(f"*{journal.SUFFIX}")):
        try:
            with reading(path):
                record = journal.read(path, _needed(context))
        except UsageError as error:
            damaged[path] = error
            continue
        if record is not None:
            yield record


def _needed(context: Context | None) -> Context:
    if context is None:
        raise UsageError(f"there is no {COMPARISON_NAME} beside it. {_NOTHING_WITHOUT}")
    return context


def _first_start(record: Record) -> tuple[bool, str, str]:
    """Orders scenarios by when the first run of each began; those without a run come last."""
    starts = [run.started_at for run in record.measurements]
    # What was not built has the time at which the whole comparison began.
    starts += [run.started_at for run in record.outcomes if run.reason != NOT_BUILT]
    return not starts, min(starts, default=""), record.scenario


def _export_path(folder: Path, record: Record) -> Path:
    # A user's own dataflow may have any name.
    suffix = "-scenario" if record.scenario in _RESERVED else ""
    return folder / f"{record.scenario}{suffix}.json"


def _journal_path(folder: Path, record: Record) -> Path:
    return folder / f"{record.scenario}{journal.SUFFIX}"


def _write_json(path: Path, data: object) -> None:
    files.write_text(path, json.dumps(data, indent=1))
