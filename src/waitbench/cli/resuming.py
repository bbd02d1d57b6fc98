"""What begins, or goes on where it was interrupted: its records, and what is said of them."""

from pathlib import Path

from waitbench.cli.preparation import Prepared
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import NOT_BUILT
from waitbench.store import comparisons, shares


def begin_records(prepared: Prepared, folder: Path, *, resume: bool) -> dict[str, Record]:
    """New records, by scenario, with the runs of before where a comparison is resumed.

    Raises ``UsageError`` where the folder holds another comparison, or another share of it.
    """
    records = prepared.new_records()
    if resume:
        contents = comparisons.resume(folder)
        share = prepared.request.share
        mine = None if share.is_whole else share
        theirs = shares.share_of(contents) if "share" in contents.settings else None
        if contents.records and mine != theirs:
            raise UsageError(
                f"{str(folder)!r} holds another share of the comparison, or all of it, so it "
                "cannot be resumed as this one. Repeat --shard as it was, or name another folder."
            )
        for earlier in contents.records:
            if earlier.scenario in records:
                go_on(records[earlier.scenario], earlier)
    return records


def kept_in(folder: Path) -> str:
    """What is said where a command is ended that --resume can go on with."""
    return f"Finished runs are kept in {folder}; the same command with --resume goes on."


def go_on(record: Record, earlier: Record) -> None:
    """Adds the measurements of an interrupted comparison. Raises ``UsageError`` for another one."""
    if earlier.context.identity != record.context.identity or dict(earlier.parameters) != dict(
        record.parameters
    ):
        raise UsageError(
            f"The results of {record.scenario} are of another comparison (revisions, Python, "
            "topology or parameters differ), so it cannot be resumed. Repeat the command as it "
            "was, or leave out --resume."
        )
    there, here = (one.measured_on.get("fingerprint") for one in (earlier, record))
    if earlier.measurements and None not in (there, here) and there != here:
        raise UsageError(
            f"{record.scenario} was measured on another machine, and its rounds are not mixed with "
            "those of this one. Go on there, or name another folder with --results."
        )
    record.measurements += [run for run in earlier.measurements if earlier.is_whole(run.round)]
    # What failed, failed; but what is not built now is said anew.
    record.outcomes += [one for one in earlier.outcomes if one.reason != NOT_BUILT]
    record.outcomes_before = len(record.outcomes)
