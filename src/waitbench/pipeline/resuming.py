"""Begins a comparison, or resumes an interrupted one."""

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
    """Begins a comparison in a folder, with the runs that the folder has already.

    Raises ``UsageError`` if the folder holds another comparison, or another shard of it.
    """
    records, comparison = prepared.new_records(), prepared.describe(settings)
    before = comparisons.resume(folder)
    if before is not None and before.cut_off:
        say(before.cut_off)
    if before is not None and before.records:
        require_same(before.folder, before.comparison, comparison)
        for earlier in before.records:
            go_on(records[earlier.scenario], earlier)
    # With discarded runs: an interruption in the new round would leave halves of both.
    comparisons.begin(folder, comparison, records.values())
    return Contents(folder=folder, comparison=comparison, records=list(records.values()))


def kept_in(folder: Path, command: str = "compare") -> str:
    """The message after an interruption: most commands can go on with --resume."""
    resume = "" if command in _WITHOUT_RESUME else "; the same command with --resume goes on"
    return f"Finished runs are kept in {folder}{resume}."


def require_same(folder: Path, before: Context, now: Context) -> None:
    """Raises ``UsageError`` if a comparison was begun with other questions.

    Its budget, and the exit code of an inconclusive result, may change.
    """
    earlier, later = _questions(before, now), _questions(now, before)
    for name in {**earlier, **later}:
        if earlier.get(name) != later.get(name):
            raise UsageError(
                f"{str(folder)!r} was begun with other {name}, so it cannot be resumed as this "
                "comparison. Repeat the command as it was, or name another folder with --results."
            )


def _questions(comparison: Context, other: Context) -> dict[str, Any]:
    """The facts that all runs must have in common to answer the same questions, by name."""
    gate = gate_of(comparison)
    return {
        # First, as another shard has other scenarios, too.
        "shares (--shard)": comparison.share,
        **comparison.in_common(other.revisions),
        "criteria": gate.criteria,
        "left_out": gate.left_out,
        "instruments": comparison.settings.get("instruments"),
    }


def go_on(record: Record, earlier: Record) -> list[Outcome]:
    """Adds the whole rounds of an interrupted comparison, and its failures.

    Returns the runs that are discarded, to be made again. Raises ``UsageError`` on another machine,
    or if a program has changed.
    """
    there, here = (it.measured_on.get("fingerprint") for it in (earlier, record))
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
    # A failure stays until the run succeeds. Failed builds are tried, and reported, anew.
    record.outcomes += [
        it for it in earlier.outcomes if it.reason != NOT_BUILT and not _is_warm_up(it)
    ]
    repeated = [
        set_aside(it, REPEATED, f"{it.reason}: {it.message}")
        for it in earlier.outcomes
        if _is_warm_up(it)
    ] + [
        set_aside(run, REPEATED, "another revision was not measured in this round")
        for run in earlier.measurements
        if not earlier.is_whole(run.round)
    ]
    record.outcomes += repeated
    record.outcomes_before = len(record.outcomes)
    return repeated


def _is_warm_up(outcome: Outcome) -> bool:
    """Whether a warm-up failed: each session has its own."""
    return outcome.round == WARM_UP and outcome.reason not in {*HARMLESS, NOT_BUILT}
