"""A comparison that begins, or goes on where it was interrupted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record
from waitbench.model.run import HARMLESS, NOT_BUILT, REPEATED, WARM_UP, Outcome, set_aside
from waitbench.pipeline.gating import gate_of
from waitbench.pipeline.preparation import Prepared
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.system import files

_WITHOUT_RESUME = ("workers", "track")
"""Commands that make comparisons and have no --resume."""


def begin(
    prepared: Prepared,
    folder: Path,
    settings: Mapping[str, object],
    say: Callable[[str], None],
) -> Contents:
    """Begins a comparison in a folder: new records, with the runs that the folder has already.

    ``settings`` are what it is begun with. Raises ``UsageError`` where the folder holds another
    comparison, or another share of it.
    """
    records, comparison = prepared.new_records(), prepared.describe(settings)
    before = comparisons.resume(folder)
    if before is not None and before.cut_off:
        say(before.cut_off)
    if before is not None and before.records:
        require_same(before.folder, before.comparison, comparison)
        for earlier in before.records:
            go_on(records[earlier.scenario], earlier)
    # With what is set aside: an interruption in the new round would leave halves of both.
    comparisons.begin(folder, comparison, records.values())
    return Contents(folder=folder, comparison=comparison, records=list(records.values()))


def kept_in(folder: Path, command: str = "compare") -> str:
    """What is said where a command is ended: most can go on with --resume."""
    goes_on = "" if command in _WITHOUT_RESUME else "; the same command with --resume goes on"
    return f"Finished runs are kept in {folder}{goes_on}."


def require_same(folder: Path, before: Context, now: Context) -> None:
    """Raises ``UsageError`` where a comparison was begun to answer other questions than these.

    How long it may take and what happens at its end may change.
    """
    was, wanted = _questions(before, now), _questions(now, before)
    for name in {**was, **wanted}:
        if was.get(name) != wanted.get(name):
            raise UsageError(
                f"{str(folder)!r} was begun with other {name}, so it cannot be resumed as this "
                "comparison. Repeat the command as it was, or name another folder with --results."
            )


def _questions(comparison: Context, other: Context) -> dict[str, Any]:
    """Everything that must stay as it was for all runs to answer the same questions, by name."""
    gate = gate_of(comparison)
    return {
        # First, as another share has other scenarios, too.
        "shares (--shard)": comparison.share,
        **comparison.in_common(other.revisions),
        "criteria": gate.criteria,
        "left_out": gate.left_out,
        "instruments": comparison.settings.get("instruments"),
    }


def go_on(record: Record, earlier: Record) -> list[Outcome]:
    """Adds the whole rounds of an interrupted comparison, and what failed in it.

    Returns what is set aside to be made anew. Raises ``UsageError`` for another machine, or if a
    program is not any more what it was.
    """
    there, here = (one.measured_on.get("fingerprint") for one in (earlier, record))
    if earlier.measurements and None not in (there, here) and there != here:
        raise UsageError(
            f"{record.scenario} was measured on another machine, and its rounds are not mixed with "
            "those of this one. Go on there, or name another folder with --results."
        )
    for label in earlier.context.labels:
        for path, digest in earlier.loaded(label).items():
            if files.sha256(Path(path)) != digest:
                raise UsageError(
                    f"{label} had loaded {path}, which has changed since: its rounds are not mixed "
                    "with those of another program. Name another folder with --results."
                )
    record.measurements += [run for run in earlier.measurements if earlier.is_whole(run.round)]
    # What failed, failed, until it succeeds; but what is not built is said anew.
    record.outcomes += [
        one for one in earlier.outcomes if one.reason != NOT_BUILT and not _is_cold(one)
    ]
    repeated = [
        *(
            set_aside(one, REPEATED, f"{one.reason}: {one.message}")
            for one in earlier.outcomes
            if _is_cold(one)
        ),
        *(
            set_aside(run, REPEATED, "another revision was not measured in this round")
            for run in earlier.measurements
            if not earlier.is_whole(run.round)
        ),
    ]
    record.outcomes += repeated
    record.outcomes_before = len(record.outcomes)
    return repeated


def _is_cold(outcome: Outcome) -> bool:
    """Whether it is of a warm-up that failed: each session has its own."""
    return outcome.round == WARM_UP and outcome.reason not in {*HARMLESS, NOT_BUILT}
