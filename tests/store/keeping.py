"""Keeping a comparison, as a session does it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from typing import Any

from tests.records import describing, make_record, measurement, outcome, times
from waitbench.model.record import ScenarioResults
from waitbench.store import comparisons


def recorded(scenario: str = "waiting", **changes: Any) -> ScenarioResults:
    """Two rounds of two revisions, and an outcome."""
    record = make_record({"a": [], "b": []}, scenario=scenario, **changes)
    for number in (1, 2):
        for position, label in enumerate("ab"):
            values = times(number, 1, 0.5)
            record.add(measurement(label, number, values, position=position))
    record.add(outcome("b", 3, "failed", message="exit status 7"))
    return record


def begin(folder: Path, records: Sequence[ScenarioResults], **settings: Any) -> None:
    """Begins a comparison of which nothing is measured yet."""
    folder.mkdir(exist_ok=True)
    comparisons.begin(folder, describing(records, settings), [])


def keep(folder: Path, *records: ScenarioResults, **settings: Any) -> None:
    """Begins a comparison and adds one run after the other."""
    begin(folder, records, **settings)
    for record in records:
        for result in record.results:
            comparisons.append(folder, record, result)


def finish(folder: Path, *records: ScenarioResults, **settings: Any) -> None:
    """A comparison that is finished."""
    keep(folder, *records, **settings)
    comparisons.finish(folder, describing(records, settings), records)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Files that cannot grow, as on a full disk: a write is cut short, the next one refused."""
    before, hard = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, (before, hard))
