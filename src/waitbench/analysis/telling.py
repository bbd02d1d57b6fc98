"""A comparison -> what it tells of revisions that others may hold too. Pure."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

from packaging.version import InvalidVersion, Version

from waitbench.analysis.rounds import kept
from waitbench.analysis.sittings import Sitting, sitting
from waitbench.model.metrics import Metric
from waitbench.model.record import Contestant, Context, Record
from waitbench.model.revision import Commit, Release

_SHOWN_DIGITS = 10
_FEWEST_CALM = 3
"""Rounds below which those count, too, in which the machine was disturbed."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A revision in a history, however the comparisons called it."""

    name: str
    """A release such as ``v0.21.1``, or the first digits of a commit."""
    engine: str
    version: str
    """Of the package; commits between two releases have that of the earlier one."""
    commit: str | None
    """Full id; ``None`` of releases."""
    date: str | None
    """When it was committed, in ISO 8601, where that is known."""

    @property
    def order(self) -> tuple[Version, bool, float, str]:
        """Sorts revisions by history: commits behind the release whose version they have."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            version = Version("0")
        return version, self.commit is not None, _seconds(self.date), self.name


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a comparison tells of one metric in one scenario."""

    series: str
    """Scenario, topology and parameters: only what has all in common is one history."""
    metric: str
    sitting: Sitting
    entries: tuple[Entry, ...]
    """Of the sitting's revisions, in their order."""


def tell(name: str, context: Context, records: Iterable[Record]) -> Iterator[Told]:
    """What a comparison tells of every metric; ``name`` is its folder's.

    Nothing where revisions cannot be recognised elsewhere: wheels and checkouts that anybody may
    have changed.
    """
    entries = {one.label: entry_of(one, context) for one in context.revisions}
    for record in records:
        labels = [label for label in kept(record) if entries.get(label) is not None]
        series = series_of(record)
        for metric in record.metrics:
            having = [one for one in labels if any(metric.key in r.metrics for r in record.of(one))]
            found = sitting(
                name,
                str(context.machine.get("fingerprint", "unknown")),
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


def name_of(source: Release | Commit) -> str:
    """What a revision is called in a history."""
    if isinstance(source, Release):
        return f"v{source.version}"
    return source.commit[:_SHOWN_DIGITS]


def entry_of(revision: Contestant, context: Context) -> Entry | None:
    """A revision of a comparison as one of history; ``None`` where it is not known what it is."""
    if revision.facts is None:
        return None
    engine, version = context.engine or "", revision.facts.package_version
    said = re.fullmatch(r"(?:[\w-]+@)?(v?\d+(?:\.\d+)+\w*)", revision.text.rpartition("=")[2])
    if revision.origin == "wheel" or (revision.origin == "source" and said):
        release = Release(version if said is None else said[1].removeprefix("v"))
        return Entry(
            name=name_of(release),
            engine=engine,
            version=release.version,
            commit=None,
            date=revision.commit_date,
        )
    if revision.origin == "source" and revision.commit is not None:
        return Entry(
            name=name_of(Commit(revision.commit)),
            engine=engine,
            version=version,
            commit=revision.commit,
            date=revision.commit_date,
        )
    return None


def series_of(record: Record) -> str:
    """What must be equal for sittings to be of one history, as one text."""
    parameters = json.dumps(dict(record.parameters), sort_keys=True)
    return "\n".join((record.scenario, record.context.topology, parameters))


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


def _seconds(date: str | None) -> float:
    """A date of ISO 8601 as seconds; 0 where there is none."""
    if date is None:
        return 0.0
    # Python 3.10 does not know the letter.
    return datetime.fromisoformat(re.sub(r"Z$", "+00:00", date)).timestamp()


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
            [one.series, [entries[entry] for entry in one.entries], *_figures(one.sitting)]
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
        told.append(Told(series=series, metric=data["metric"], sitting=found, entries=entries))
    return told


def _all_entries(told: Sequence[Told]) -> Iterable[Entry]:
    return dict.fromkeys(entry for one in told for entry in one.entries)


def _figures(of: Sitting) -> tuple[tuple[float, ...], int, float]:
    return of.logs, of.rounds, of.squares


_ENTRY = tuple(field.name for field in fields(Entry))


@cache
def _entry(*values: Any) -> Entry:
    """The same object for all comparisons that hold a revision."""
    return Entry(**dict(zip(_ENTRY, values, strict=True)))
