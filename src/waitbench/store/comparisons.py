"""Comparisons <-> folders: everything is read from ``comparison.json`` and ``runs.jsonl``.

The one has what holds for all of a comparison, the other a line for each run, which is on the disk
before the next run starts. Whatever else is in a folder is written for people and their tools.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import ValidationError, convert, structs, to_builtins

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record
from waitbench.model.run import MEASURED, Measurement, Outcome, Result
from waitbench.store import formats
from waitbench.store.formats import reading
from waitbench.system import files
from waitbench.system.installation import called

KIND = "comparison"
COMPARISON_NAME = f"{KIND}.json"
RUNS_NAME = "runs.jsonl"
MEASURE_FIRST = f"Measure first: {called('compare')} v0.16.0 v0.16.1"

_NOTHING_WITHOUT = (
    f"{COMPARISON_NAME} has the revisions, machine and settings of all runs in the folder: without "
    "it none of them counts. Restore it from a copy, or measure into another folder."
)
_WITHOUT_THE_LINE = (
    "Restore the file from a copy, or delete the line: --resume measures its round again."
)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a results folder holds."""

    folder: Path
    comparison: Context
    records: Sequence[Record]
    """In the comparison's order."""
    cut_off: str = ""
    """What is said of a last line that was cut off."""


def begin(folder: Path, comparison: Context, records: Iterable[Record]) -> None:
    """Writes what holds for a whole comparison, and the runs that it has already.

    Raises ``HarnessError`` when the disk refuses, ``UsageError`` for what could not be read again.
    """
    _write(folder, comparison)
    lines = [_line(record, run) + "\n" for record in records for run in record.results]
    files.write_text(folder / RUNS_NAME, "".join(lines))


def append(folder: Path, record: Record, result: Result) -> None:
    """Adds one run of a scenario. A later result of the same run replaces the earlier one.

    The run is on the disk when this returns, and the cost does not depend on the runs before it.
    Raises ``HarnessError`` when the disk refuses; nothing of the run is there then.
    """
    files.append_line(folder / RUNS_NAME, _line(record, result))


def export(folder: Path, records: Sequence[Record]) -> None:
    """Writes the files that people and their tools read. Raises ``HarnessError``."""
    # Here, not above: pandas takes a second to import, and nothing is measured any more.
    from waitbench.store import frames

    frames.export(folder, records)


def finish(folder: Path, records: Sequence[Record]) -> None:
    """Exports all, and says that nothing more will be measured. Raises ``HarnessError``."""
    export(folder, records)
    begun = formats.read(folder, KIND, Context, _NOTHING_WITHOUT)
    assert begun is not None, "it was begun in this folder"
    _write(folder, structs.replace(begun, finished=True))


def read(folder: Path) -> Contents:
    """The comparison in a folder.

    Raises ``UsageError`` where there is none, it has no run yet, or a file is not one of ours.
    """
    contents = resume(folder)
    if contents is None or not contents.records:
        raise UsageError(f"{str(folder)!r} holds no results. {MEASURE_FIRST}")
    return contents


def resume(folder: Path) -> Contents | None:
    """The comparison in a folder, even if it has no run yet; ``None`` where none was begun.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    runs, has_runs = folder / RUNS_NAME, files.is_there(folder / RUNS_NAME)
    comparison = formats.read(folder, KIND, Context, _NOTHING_WITHOUT)
    if comparison is None:
        if has_runs:
            raise UsageError(
                f"There is no {COMPARISON_NAME} in {str(folder)!r}. {_NOTHING_WITHOUT}"
            )
        return None
    context = structs.replace(comparison, settings={}, scenarios=(), share=None, finished=False)
    records = {
        one.scenario: Record(**structs.asdict(one), context=context)
        for one in comparison.scenarios
        if one.scenario in comparison.here.scenarios
    }
    is_cut_off = has_runs and _read_runs(runs, records)
    return Contents(
        folder=folder,
        comparison=comparison,
        records=[one for one in records.values() if comparison.finished or one.results],
        cut_off=f"The last line of {str(runs)!r} is cut off, and left out." if is_cut_off else "",
    )


def _write(folder: Path, comparison: Context) -> None:
    plain = to_builtins(comparison, enc_hook=dict)
    # They have a set.
    revisions = to_builtins(comparison.revisions, enc_hook=dict, order="deterministic")
    try:
        convert(plain, Context)
    except ValidationError as error:
        raise UsageError(f"This comparison cannot be stored: {error}.") from error
    formats.write(folder, KIND, {**plain, "revisions": revisions})


def _line(record: Record, result: Result) -> str:
    return json.dumps({"scenario": record.scenario, **to_builtins(result, enc_hook=dict)})


def _read_runs(path: Path, records: Mapping[str, Record]) -> bool:
    """Adds the runs of a file to their records. Returns whether its last line is cut off."""
    with reading(path):
        *lines, rest = files.read(path).split(b"\n")
    latest: dict[tuple[object, ...], tuple[Record, Result]] = {}
    for number, line in enumerate(lines, 1):
        with reading(path, number, _WITHOUT_THE_LINE):
            plain = json.loads(line)
            kind: type[Result] = Measurement if plain["outcome"] == MEASURED else Outcome
            record, result = records[plain["scenario"]], convert(plain, kind)
        identity = (
            record.scenario, result.label, result.round, result.position, result.started_at
        )  # fmt: skip
        # Behind those that came before it, even if it replaces one of them.
        latest.pop(identity, None)
        latest[identity] = record, result
    for record, result in latest.values():
        record.add(result)
    return bool(rest)
