"""A comparison -> what it tells of revisions that others may hold too. Pure."""

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
from waitbench.model.record import Context, Record
from waitbench.model.series import Series

_FEWEST_CALM = 3
"""Rounds below which those count, too, in which the machine was disturbed."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a comparison tells of one metric in one scenario."""

    series: Series
    metric: str
    sitting: Sitting
    entries: tuple[Entry, ...]
    """Of the sitting's revisions, in their order."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The revisions that a comparison tried in one scenario, whatever came of it."""

    series: Series
    engine: str
    names: frozenset[str]


def tell(name: str, context: Context, records: Iterable[Record]) -> Iterator[Told]:
    """What a comparison tells of every metric; ``name`` is its folder's.

    Nothing where revisions cannot be recognised elsewhere: wheels and checkouts that anybody may
    have changed. Each engine has a history of its own.
    """
    entries = {one.label: entry_of(one) for one in context.revisions}
    for record, engine in product(records, context.engines or ("",)):
        labels = [
            label
            for label in kept(record)
            if (entry := entries.get(label)) is not None and entry.engine == engine
        ]
        series = series_of(record)
        for metric in record.metrics:
            having = [one for one in labels if any(metric.key in r.metrics for r in record.of(one))]
            found = sitting(
                name,
                str(record.measured_on.get("fingerprint", "unknown")),
                [entry.name for one in having if (entry := entries[one])],
                rounds_of(record, having, metric),
            )
            if found is not None and len(set(found.revisions)) == len(found.revisions):
                yield Told(
                    series=series,
                    metric=metric.name,
                    sitting=found,
                    entries=tuple(entry for one in having if (entry := entries[one])),
                )


def tried(context: Context, records: Iterable[Record]) -> Iterator[Tried]:
    """What a comparison need not be made for again."""
    entries = {one.label: entry for one in context.revisions if (entry := entry_of(one))}
    for record, engine in product(records, context.engines or ("",)):
        done = (
            entry.name
            for label, entry in entries.items()
            if entry.engine == engine
            and (len(record.of(label)) >= FEWEST_ROUNDS or record.why_given_up(label) is not None)
        )
        yield Tried(series=series_of(record), engine=engine, names=frozenset(done))


def series_of(record: Record) -> Series:
    """What its runs are of."""
    return Series.of(record.scenario, record.context.topology, record.parameters)


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


def plain(told: Sequence[Told]) -> dict[str, Any]:
    """What one comparison tells of one metric, as JSON takes it: little, for there may be many."""
    entries = {entry: place for place, entry in enumerate(_all_entries(told))}
    of = told[0].sitting
    return {
        "metric": told[0].metric,
        "name": of.name,
        "machine": of.machine,
        "entries": [[getattr(entry, name) for name in _ENTRY] for entry in entries],
        "sittings": [
            [astuple(one.series), [entries[entry] for entry in one.entries], *_figures(one.sitting)]
            for one in told
        ],
    }


def read(data: Mapping[str, Any]) -> list[Told]:
    """The reverse of ``plain``. Raises ``KeyError`` or ``TypeError`` for anything else."""
    all_entries = [_entry(*one) for one in data["entries"]]
    told = []
    for series, places, logs, rounds, squares in data["sittings"]:
        entries = tuple(all_entries[place] for place in places)
        found = Sitting(
            name=data["name"],
            machine=data["machine"],
            revisions=tuple(entry.name for entry in entries),
            logs=tuple(logs),
            rounds=rounds,
            squares=squares,
        )
        told.append(
            Told(series=_series(*series), metric=data["metric"], sitting=found, entries=entries)
        )
    return told


def plain_tried(tried: Iterable[Tried]) -> dict[str, Any]:
    """What one comparison tried, as JSON takes it."""
    return {"tried": [[astuple(one.series), one.engine, sorted(one.names)] for one in tried]}


def read_tried(data: Mapping[str, Any]) -> list[Tried]:
    """The reverse of ``plain_tried``."""
    return [
        Tried(series=_series(*series), engine=engine, names=frozenset(names))
        for series, engine, names in data["tried"]
    ]


def _all_entries(told: Sequence[Told]) -> Iterable[Entry]:
    return dict.fromkeys(entry for one in told for entry in one.entries)


def _figures(of: Sitting) -> tuple[tuple[float, ...], int, float]:
    return of.logs, of.rounds, of.squares


_ENTRY = tuple(field.name for field in fields(Entry))


@cache
def _entry(*values: Any) -> Entry:
    """The same object for all comparisons that hold a revision."""
    return Entry(**dict(zip(_ENTRY, values, strict=True)))


@cache
def _series(*values: str) -> Series:
    """The same object for all comparisons, likewise."""
    return Series(*values)
