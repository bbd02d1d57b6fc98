"""Carries out a plan: one run after the other, each on disk before the next begins."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from harness import results
from harness.errors import UsageError
from harness.measure import NOT_SUPPORTED, TIMED_OUT, Measurement, Measurer
from harness.places import Cache
from harness.plan import WARM_UP, PlannedRun
from harness.progress import RunProgress
from harness.results import Record

GIVE_UP_AFTER = 2
"""Failed runs of one revision in one scenario, without a good one before them, after which the rest are not tried.

A run that hung is not tried again at all: its time limit is generous, and waiting for it is what costs the user most.
"""


def carry_out(
    plan: Sequence[PlannedRun],
    measurer: Measurer,
    records: Mapping[str, Record],
    folder: Path,
    progress: RunProgress,
) -> None:
    """Runs what the plan says and adds to ``records``, by scenario, and to their files in ``folder``."""
    for planned in plan:
        record = records[planned.scenario.name]
        if _is_hopeless(planned, record):
            progress.skip(planned)
            continue
        progress.begin(planned)
        result = measurer.measure(planned)
        if planned.round != WARM_UP or not isinstance(result, Measurement):
            record.add(result)
            results.write(record, folder)
        progress.end(planned, result)


@contextmanager
def exclusive(folder: Path, cache: Cache) -> Iterator[None]:
    """Keeps a second comparison out of a results folder. Raises ``UsageError`` where one is at work there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--results {str(folder)!r} is no folder that can be written to: {error.strerror}.") from error
    key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    lock = FileLock(cache.lock_file(f"results-{key}"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            f"Another comparison is writing to {str(folder)!r}. Wait for it, or name another folder with --results."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _is_hopeless(planned: PlannedRun, record: Record) -> bool:
    reasons = [outcome.reason for outcome in record.outcomes if outcome.label == planned.label]
    if record.of(planned.label):
        return False
    return NOT_SUPPORTED in reasons or TIMED_OUT in reasons or len(reasons) >= GIVE_UP_AFTER
