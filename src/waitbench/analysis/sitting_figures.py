"""A comparison -> what it tells of revisions that others may hold too. Pure."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from itertools import product
from typing import Any

from waitbench.analysis.entries import Entry, entry_of
from waitbench.analysis.rounds import kept
from waitbench.analysis.sittings import FEWEST_ROUNDS, Sitting, sitting
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import Measurement
from waitbench.model.series import Series

_FEWEST_CALM = 3
"""Rounds below which those count, too, in which the machine was disturbed."""

_DIGITS = 12
"""Of a digest: two of a million runs have one in common with a chance of 1 in 500."""


@dataclass(frozen=True, kw_only=True)
class SittingFigures:
    """What a comparison tells of one metric in one scenario."""

    series: Series
    metric: str
    sitting: Sitting
    entries: tuple[Entry, ...]
    """Of the sitting's revisions, in their order."""


@dataclass(frozen=True, kw_only=True)
class TriedRevision:
    """The revisions that a comparison tried in one scenario, whatever came of it."""

    series: Series
    engine: str
    names: frozenset[str]


def tell(name: str, context: Context, records: Iterable[Record]) -> Iterator[SittingFigures]:
    """What a comparison tells of every metric; ``name`` is its folder's.

    Nothing where revisions cannot be recognised elsewhere: wheels and checkouts that anybody may
    have changed; nor of builds of different compilers, whose ratios are partly the compilers'.
    Each engine has a history of its own.
    """
    if context.mixed_origins:
        return
    entries = {one.label: entry_of(one) for one in context.revisions}
    for record, engine in product(records, context.engines or ("",)):
        labels = [
            label
            for label in kept(record)
            if (entry := entries.get(label)) is not None and entry.engine == engine
        ]
        series = series_of(record)
        digests = {one: _digests(record.of(one)) for one in labels}
        for metric in record.metrics:
            having = [one for one in labels if any(metric.key in r.metrics for r in record.of(one))]
            found = sitting(
                name,
                str(record.measured_on.get("fingerprint", "unknown")),
                [entry.name for one in having if (entry := entries[one])],
                rounds_of(record, having, metric),
                runs=digests[having[0]] if having else (),
                conditions=conditions_of(
                    record, [one for one in context.revisions if one.label in having]
                ),
            )
            if found is not None and len(set(found.revisions)) == len(found.revisions):
                yield SittingFigures(
                    series=series,
                    metric=metric.name,
                    sitting=found,
                    entries=tuple(entry for one in having if (entry := entries[one])),
                )


def once(told: Iterable[SittingFigures]) -> list[SittingFigures]:
    """Each sitting once, however often it is kept: of copies the one that holds most.

    A copy has a run in common with it: that of an earlier state has fewer rounds, or revisions.
    """
    found: list[SittingFigures] = []
    taken: set[tuple[object, ...]] = set()
    for one in sorted(told, key=lambda one: (-one.sitting.rounds, -len(one.entries))):
        keys = {
            (one.series, one.metric, one.entries[0].engine, digest) for digest in one.sitting.runs
        }
        if taken.isdisjoint(keys):
            found.append(one)
        taken |= keys
    return sorted(found, key=lambda one: one.sitting.name)


def tried(context: Context, records: Iterable[Record]) -> Iterator[TriedRevision]:
    """What a comparison need not be made for again; one that tells nothing is of no use."""
    if context.mixed_origins:
        return
    entries = {one.label: entry for one in context.revisions if (entry := entry_of(one))}
    for record, engine in product(records, context.engines or ("",)):
        done = (
            entry.name
            for label, entry in entries.items()
            if entry.engine == engine
            and (len(record.of(label)) >= FEWEST_ROUNDS or record.why_given_up(label) is not None)
        )
        yield TriedRevision(series=series_of(record), engine=engine, names=frozenset(done))


def series_of(record: Record) -> Series:
    """What its runs are of."""
    return Series.of(record.scenario, record.context.topology, record.parameters)


def conditions_of(record: Record, revisions: Iterable[RevisionRecord]) -> str:
    """What ratios may differ by from one sitting to another, in one line.

    The kind of machine (processor, number of CPUs) and its kernel; the Python; and whether the
    revisions were built here, with which compiler. Not which machine: runners of a kind come and go
    every night, and what differs from one to the next is in the scatter of the sittings.
    """
    known = {one.facts.python for one in revisions if one.facts}
    made = {one.facts.compiler or one.origin for one in revisions if one.facts}
    machine = (record.measured_on.get(name, "unknown") for name in ("cpu", "cpus", "kernel"))
    return " · ".join(map(str, [*machine, *sorted(known), *sorted(made)]))


def rounds_of(record: Record, labels: Sequence[str], metric: Metric) -> list[tuple[float, ...]]:
    """The logarithms of the rounds that all of some revisions have.

    Those in which the machine did something else in every attempt are left out, but where next to
    none would be left: they scatter, which the interval says.
    """
    by_label = [
        {run.round: run.metrics[metric.key] for run in record.of(one) if metric.key in run.metrics}
        for one in labels
    ]
    shared = set(by_label[0]).intersection(*by_label[1:]) if by_label else set()
    calm = shared - record.disturbed_rounds
    return [
        tuple(math.log(max(of[number], metric.floor)) for of in by_label)
        for number in sorted(calm if len(calm) >= _FEWEST_CALM else shared)
    ]


def plain(told: Sequence[SittingFigures]) -> dict[str, Any]:
    """What one comparison tells of one metric, as JSON takes it: little, for there may be many."""
    entries = {entry: place for place, entry in enumerate(_all_entries(told))}
    of = told[0].sitting
    return {
        "metric": told[0].metric,
        "name": of.name,
        "entries": [[getattr(entry, name) for name in _ENTRY] for entry in entries],
        "sittings": [
            [astuple(one.series), [entries[entry] for entry in one.entries], *_figures(one.sitting)]
            for one in told
        ],
    }


def read(data: Mapping[str, Any]) -> list[SittingFigures]:
    """The reverse of ``plain``. Raises ``KeyError`` or ``TypeError`` for anything else."""
    all_entries = [_entry(*one) for one in data["entries"]]
    told = []
    for series, places, machine, conditions, logs, rounds, squares, runs in data["sittings"]:
        entries = tuple(all_entries[place] for place in places)
        found = Sitting(
            name=data["name"],
            machine=machine,
            conditions=conditions,
            revisions=tuple(entry.name for entry in entries),
            logs=tuple(logs),
            rounds=rounds,
            squares=squares,
            runs=tuple(runs),
        )
        told.append(
            SittingFigures(
                series=_series(*series), metric=data["metric"], sitting=found, entries=entries
            )
        )
    return told


def plain_tried(tried: Iterable[TriedRevision]) -> dict[str, Any]:
    """What one comparison tried, as JSON takes it."""
    return {"tried": [[astuple(one.series), one.engine, sorted(one.names)] for one in tried]}


def read_tried(data: Mapping[str, Any]) -> list[TriedRevision]:
    """The reverse of ``plain_tried``."""
    return [
        TriedRevision(series=_series(*series), engine=engine, names=frozenset(names))
        for series, engine, names in data["tried"]
    ]


def _all_entries(told: Sequence[SittingFigures]) -> Iterable[Entry]:
    return dict.fromkeys(entry for one in told for entry in one.entries)


def _figures(of: Sitting) -> tuple[Any, ...]:
    return of.machine, of.conditions, of.logs, of.rounds, of.squares, of.runs


def _digests(runs: Iterable[Measurement]) -> list[str]:
    """Tells runs apart by when they were and what they measured, wherever they are kept."""
    texts = (repr((run.started_at, sorted(run.metrics.items()))) for run in runs)
    return [hashlib.sha256(text.encode()).hexdigest()[:_DIGITS] for text in texts]


_ENTRY = tuple(field.name for field in fields(Entry))


@cache
def _entry(*values: Any) -> Entry:
    """The same object for all comparisons that hold a revision."""
    return Entry(**dict(zip(_ENTRY, values, strict=True)))


@cache
def _series(*values: str) -> Series:
    """The same object for all comparisons, likewise."""
    return Series(*values)
