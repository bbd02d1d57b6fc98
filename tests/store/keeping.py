"""Keeping a comparison, as a session does it."""

from pathlib import Path

from tests.records import make_record, measurement, outcome, times
from waitbench.model.record import Record
from waitbench.model.run import Result
from waitbench.store import comparisons

SAMPLE = {"taken_s": 0.5, "lines": 3.0}


def recorded() -> Record:
    """Two rounds of two revisions, with samples, and an outcome."""
    record = make_record({"a": [], "b": []})
    for number in (1, 2):
        for position, label in enumerate("ab"):
            values = times(number, 1, 0.5)
            record.add(measurement(label, number, values, position=position, samples=(SAMPLE,)))
    record.add(outcome("b", 3, "failed", message="exit status 7"))
    return record


def results_of(record: Record) -> list[Result]:
    return [*record.measurements, *record.outcomes]


def keep(folder: Path, record: Record) -> None:
    """Begins a comparison and adds one run after the other."""
    comparisons.begin(folder, record.context)
    for result in results_of(record):
        comparisons.append(folder, record, result)


def sorted_runs(record: Record) -> Record:
    """The same record with its measurements in the order in which its file has them."""
    record.measurements.sort(key=lambda m: (record.context.labels.index(m.label), m.round))
    return record
