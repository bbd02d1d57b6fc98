"""Writes and reads comparisons: ``comparison.json``, the header, and ``runs.jsonl``.

``runs.jsonl`` has a line for each run, on disk before the next run starts. All other files in a
folder of results are for people and their tools.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import convert, structs

from waitbench.model.errors import UsageError
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.run import MEASURED, FailedRun, Measurement, Result
from waitbench.store import formats, frames
from waitbench.store.formats import errors_explained
from waitbench.system import files
from waitbench.system.installation import called

KIND = "comparison"
COMPARISON_NAME = f"{KIND}.json"
RUNS_NAME = "runs.jsonl"
MEASURE_FIRST = f"Measure first: {called('compare')} v0.16.0 v0.16.1"

_RESTORE_HEADER = (
    f"{COMPARISON_NAME} has the revisions, machine and settings of all runs in the folder: without "
    "it none of them counts. Restore it from a copy, or measure into another folder."
)
_RESTORE_LINE = (
    "Restore the file from a copy, or delete the line: --resume measures its round again."
)


@dataclass(frozen=True, kw_only=True)
class StoredComparison:
    """The comparison of a results folder."""

    folder: Path
    comparison: ComparisonHeader
    records: Sequence[ScenarioResults]
    cut_off: str = ""
    """A sentence about a truncated last line; empty if there is none."""


def begin(folder: Path, comparison: ComparisonHeader, records: Iterable[ScenarioResults]) -> None:
    """Writes the header and the runs so far. Raises ``HarnessError``."""
    _write(folder, comparison)
    runs = ((record, it) for record in records for it in (*record.warm_ups, *record.results))
    lines = [_line(record, run) + "\n" for record, run in runs]
    files.write_text(folder / RUNS_NAME, "".join(lines))


def append(folder: Path, record: ScenarioResults, result: Result) -> None:
    """Writes a run to disk, again if it is marked or discarded later: ``read`` takes the last.

    Raises ``HarnessError`` if the disk refuses, and leaves the file unchanged.
    """
    files.append_line(folder / RUNS_NAME, _line(record, result))


def finish(folder: Path, header: ComparisonHeader, records: Sequence[ScenarioResults]) -> None:
    """Writes the files for other tools, and marks the comparison as finished."""
    frames.export(folder, records)
    _write(folder, structs.replace(header, finished=True))


def read(folder: Path) -> StoredComparison:
    """Reads a comparison. Raises ``UsageError`` if it has no runs, or a file is damaged."""
    contents = read_begun(folder)
    if contents is None or not contents.records:
        below = sorted(path.parent for path in folder.glob(f"*/{COMPARISON_NAME}"))
        which = f"one of {len(below)} in it, such as" if below[1:] else "the one in it:"
        remedy = f"Name {which} {below[0]}." if below else MEASURE_FIRST
        raise UsageError(f"{str(folder)!r} holds no results. {remedy}")
    return contents


def read_begun(folder: Path) -> StoredComparison | None:
    """Reads a comparison, even without runs; ``None`` if there is none. Raises ``UsageError``."""
    runs, has_runs = folder / RUNS_NAME, files.is_there(folder / RUNS_NAME)
    comparison = formats.read(folder, KIND, ComparisonHeader, _RESTORE_HEADER)
    if comparison is None:
        if has_runs:
            raise UsageError(f"There is no {COMPARISON_NAME} in {str(folder)!r}. {_RESTORE_HEADER}")
        return None
    records = {
        scenario.name: ScenarioResults(spec=scenario, context=comparison)
        for scenario in comparison.scenarios
        if comparison.shard is None or scenario.name in comparison.shard.scenarios
    }
    is_cut_off = has_runs and _read_runs(runs, records)
    return StoredComparison(
        folder=folder,
        comparison=comparison,
        records=[record for record in records.values() if comparison.finished or record.results],
        cut_off=f"The last line of {str(runs)!r} is cut off, and left out." if is_cut_off else "",
    )


def _write(folder: Path, comparison: ComparisonHeader) -> None:
    content = formats.to_builtins(comparison)
    # This order sorts sets, too.
    revisions = formats.to_builtins(comparison.revisions, order="deterministic")
    formats.write(folder, KIND, {**content, "revisions": revisions})


def _line(record: ScenarioResults, result: Result) -> str:
    return json.dumps({"scenario": record.scenario, **formats.to_builtins(result)})


def _read_runs(path: Path, records: Mapping[str, ScenarioResults]) -> bool:
    """Adds the runs of a file to their records. Returns whether its last line is truncated."""
    with errors_explained(path):
        *lines, truncated_line = files.read(path).split(b"\n")
    latest: dict[tuple[object, ...], tuple[ScenarioResults, Result]] = {}
    for number, line in enumerate(lines, 1):
        with errors_explained(path, number, _RESTORE_LINE):
            run = json.loads(line)
            kind: type[Result] = Measurement if run["outcome"] == MEASURED else FailedRun
            record, result = records[run["scenario"]], convert(run, kind)
        key = (record.scenario, result.label, result.round, result.position, result.started_at)
        # A later result of a run comes last, not in the place of the earlier one.
        latest.pop(key, None)
        latest[key] = record, result
    for record, result in latest.values():
        record.add(result)
    return bool(truncated_line)
