"""What a comparison, a session, tells of revisions that other sessions hold too. Pure."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

import msgspec
from packaging.version import InvalidVersion, Version

from waitbench.analysis.rounds import by_round, mostly_disturbed
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record, RevisionRecord, Series
from waitbench.model.revision import Origin, Source

FEWEST_ROUNDS = 2
"""Below which a comparison tells nothing: one round has no variation."""
_SHOWN_DIGITS = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A revision in a history, however the comparisons called it."""

    name: str
    """A release such as ``v0.21.1``, or the first digits of a commit."""
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
        # Python 3.10 does not read every date of ISO 8601.
        date_s = msgspec.convert(self.date, datetime).timestamp() if self.date else 0.0
        return version, self.commit is not None, date_s, self.name


@dataclass(frozen=True, kw_only=True)
class Session:
    """What one comparison says of one metric of some revisions in one scenario."""

    folder: str
    started: str
    """When its first run began: a copy of its folder has the same."""
    engine: str
    series: Series
    machine: str
    """What ratios may differ by: processor, kernel, Python, compiler."""
    metric: str
    logs: Mapping[Entry, tuple[float, ...]]
    """The logarithm of what each revision, two or more, cost in the rounds that all have."""

    @property
    def rounds(self) -> int:
        return len(next(iter(self.logs.values())))


def sessions_of(
    folder: str, context: Context, records: Iterable[Record], metrics: Sequence[Metric]
) -> Iterator[Session]:
    """What a comparison in a folder tells of some metrics.

    Nothing where revisions cannot be recognised elsewhere: wheels and checkouts that anybody may
    have changed; nor of builds of different compilers, whose ratios are partly theirs.
    """
    if context.mixed_origins:
        return
    entries = {one.label: entry for one in context.revisions if (entry := entry_of(one))}
    for record, metric in product(records, metrics):
        # One that failed in most rounds does not take them from the others.
        fewest = len(record.rounds) / 2
        labels = [one for one in entries if len(by_round([(record, one)], metric)) >= fewest]
        rounds = by_round([(record, label) for label in labels], metric)
        if mostly_disturbed(len(record.disturbed_rounds & rounds.keys()), len(rounds)):
            continue
        columns = zip(*rounds.values(), strict=True)
        logs = {
            entries[label]: tuple(math.log(max(cost, metric.resolution)) for cost in costs)
            for label, costs in zip(labels, columns, strict=False)
        }
        # One revision with two labels is compared with itself.
        if len(rounds) < FEWEST_ROUNDS or len(logs) < max(2, len(labels)):
            continue
        yield Session(
            folder=folder,
            started=min(run.started_at for run in record.measurements),
            engine=context.engine,
            series=record.series,
            machine=machine_of(record, [r for r in context.revisions if r.label in labels]),
            metric=metric.name,
            logs=logs,
        )


def independent(sessions: Iterable[Session]) -> list[Session]:
    """Each session once, however often it is stored: the copy with most rounds."""
    found = {
        (one.series, one.machine, one.metric, one.engine, one.started): one
        for one in sorted(sessions, key=lambda one: (one.rounds, len(one.logs)))
    }
    return sorted(found.values(), key=lambda one: one.folder)


def machine_of(record: Record, revisions: Iterable[RevisionRecord]) -> str:
    """What ratios may differ by from one machine to another, in one line.

    The kind of machine (processor, number of CPUs) and its kernel; the Python; and whether the
    revisions were built here, with which compiler. Not which machine: runners of a kind come and go
    every night, and what differs from one to the next is in the scatter of the sessions.
    """
    known = {one.facts.python for one in revisions if one.facts}
    made = {one.facts.compiler or one.origin for one in revisions if one.facts}
    machine = (record.measured_on.get(name, "unknown") for name in ("cpu", "cpus", "kernel"))
    return " · ".join(map(str, [*machine, *sorted(known), *sorted(made)]))


def name_of(source: Source) -> str:
    """What a release or a commit is called in a history."""
    if source.origin is Origin.WHEEL:
        return f"v{source.identity}"
    return source.identity[:_SHOWN_DIGITS]


def entry_of(revision: RevisionRecord) -> Entry | None:
    """A revision of a comparison as one of history; ``None`` where it is not known what it is."""
    if revision.facts is None or revision.origin not in (Origin.WHEEL, Origin.SOURCE):
        return None
    # As the package says: v0.21 is the wheel of 0.21.0.
    version, commit = revision.facts.package_version, None
    if revision.origin == Origin.SOURCE:
        named = re.fullmatch(r"(?:[^=]*=(?!=))?v?(\d+(?:\.\d+)+\w*)", revision.text)
        version, commit = (named[1], None) if named else (version, revision.commit)
        if not named and commit is None:
            return None
    source = Source(Origin.SOURCE, commit) if commit else Source(Origin.WHEEL, version)
    return Entry(name=name_of(source), version=version, commit=commit, date=revision.commit_date)
