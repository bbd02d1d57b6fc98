"""Folders of results -> sessions: costs of revisions in one comparison, as part of a history."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from operator import attrgetter
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

from waitbench.analysis.rounds import by_round, mostly_disturbed
from waitbench.model.metrics import Metric
from waitbench.model.record import ComparisonHeader, ScenarioResults, Series
from waitbench.model.revision import SHOWN_DIGITS, Origin, Revision, Source
from waitbench.pipeline import gathering
from waitbench.store.comparisons import StoredComparison

Tried = tuple[str, Series, str]
"""An engine, a series, and a revision that was measured in it, or failed."""
FEWEST_ROUNDS = 2
"""A single round has no variance."""


@dataclass(frozen=True, kw_only=True)
class HistoryRevision:
    """A revision in a history, independent of its labels."""

    name: str
    """A release such as ``v0.21.1``, or the first digits of a commit."""
    version: str
    """The package's version; commits between two releases have that of the earlier one."""
    commit: str | None
    """Full id; ``None`` for releases."""
    date: str | None
    """The committer's date in ISO 8601, if known."""

    @property
    def order(self) -> tuple[Version, bool, float, str]:
        """The sort key of history: commits follow the release of the same version."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            version = Version("0")
        # Python 3.10 does not parse all ISO 8601 dates.
        date_s = msgspec.convert(self.date, datetime).timestamp() if self.date else 0.0
        return version, self.commit is not None, date_s, self.name


@dataclass(frozen=True, kw_only=True)
class HistorySession:
    """One metric of the revisions of a comparison in one scenario."""

    folder: str
    started: str
    """The start of its first run, which identifies copies of the folder."""
    engine: str
    series: Series
    machine: str
    metric: Metric
    logs: Mapping[HistoryRevision, tuple[float, ...]]
    """The logarithms of the costs of two or more revisions in the rounds that all have."""

    @property
    def rounds(self) -> int:
        return len(next(iter(self.logs.values())))


@dataclass(frozen=True)
class Stored:
    """The sessions of some folders."""

    sessions: list[HistorySession] = field(default_factory=list)
    tried: set[Tried] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """Folders that could not be read, with the reasons, which were printed."""


def read(roots: Sequence[Path], metric: Metric) -> Stored:
    """Reads the sessions in some folders and below. Raises ``UsageError`` for a missing folder."""
    stored = Stored()
    for contents in gathering.read_each(gathering.folders_in(roots), stored.unreadable):
        stored.sessions.extend(sessions_of(contents, [metric]))
        stored.tried.update(tried(contents.comparison, contents.records))
    return stored


def sessions_of(contents: StoredComparison, metrics: Sequence[Metric]) -> Iterator[HistorySession]:
    """The sessions of a comparison's scenarios and some metrics.

    Leaves out revisions without an identity elsewhere, such as checkouts, and comparisons of mixed
    origins, whose ratios partly come from their compilers.
    """
    context = contents.comparison
    if context.mixed_origins:
        return
    entries = {revision.label: it for revision in context.revisions if (it := entry_of(revision))}
    for record, metric in product(contents.records, metrics):
        # A revision that failed in most rounds would remove them for the others.
        fewest = len(record.rounds) / 2
        labels = [it for it in entries if len(by_round([(record, it)], metric)) >= fewest]
        rounds = by_round([(record, label) for label in labels], metric)
        if mostly_disturbed(len(record.disturbed_rounds & rounds.keys()), len(rounds)):
            continue
        columns = zip(*rounds.values(), strict=True)
        logs = {
            entries[label]: tuple(math.log(max(cost, metric.resolution)) for cost in costs)
            for label, costs in zip(labels, columns, strict=False)
        }
        # A revision with two labels would be compared with itself.
        if len(rounds) < FEWEST_ROUNDS or len(logs) < max(2, len(labels)):
            continue
        yield HistorySession(
            folder=str(contents.folder),
            started=min(run.started_at for run in record.measurements),
            engine=context.engine,
            series=record.series,
            machine=machine_of(record, [r for r in context.revisions if r.label in labels]),
            metric=metric,
            logs=logs,
        )


def independent(sessions: Iterable[HistorySession]) -> list[HistorySession]:
    """The sessions without copies, of which those with fewer rounds are dropped."""
    key = attrgetter("series", "machine", "metric", "engine", "started")
    by_size = sorted(sessions, key=lambda session: (session.rounds, len(session.logs)))
    return sorted({key(it): it for it in by_size}.values(), key=attrgetter("folder"))


def machine_of(record: ScenarioResults, revisions: Iterable[Revision]) -> str:
    """The kind of machine as a line: CPU, kernel, Python, and compiler or origin.

    Not its identity: CI runners of a kind come and go, and their differences are part of the
    variance between sessions.
    """
    pythons = {it.build.python for it in revisions if it.build}
    builds = {it.build.compiler or it.origin.value for it in revisions if it.build}
    machine = (record.measured_on.get(name, "unknown") for name in ("cpu", "cpus", "kernel"))
    return " · ".join(map(str, [*machine, *sorted(pythons), *sorted(builds)]))


def name_of(source: Source) -> str:
    if source.origin.is_release:
        return f"v{source.identity.removeprefix('v')}"
    return source.identity[:SHOWN_DIGITS]


def entry_of(revision: Revision) -> HistoryRevision | None:
    origin = revision.origin
    if revision.build is None or not (origin.is_release or origin is Origin.SOURCE):
        return None
    # The package's version: the revision v0.21 is release 0.21.0.
    version, commit = revision.build.package_version, None
    if origin is Origin.SOURCE:
        named = re.fullmatch(r"(?:[^=]*=(?!=))?v?(\d+(?:\.\d+)+\w*)", revision.text)
        version, commit = (named[1], None) if named else (version, revision.commit)
        if not named and commit is None:
            return None
    source = Source(Origin.SOURCE, commit) if commit else Source(Origin.WHEEL, version)
    return HistoryRevision(
        name=name_of(source), version=version, commit=commit, date=revision.commit_date
    )


def tried(context: ComparisonHeader, records: Iterable[ScenarioResults]) -> Iterator[Tried]:
    """The revisions that need no other comparison; mixed origins are of no use in a history."""
    revisions = () if context.mixed_origins else context.revisions
    entries = {it.label: entry for it in revisions if (entry := entry_of(it))}
    for record, (label, entry) in product(records, entries.items()):
        if len(record.of(label)) >= FEWEST_ROUNDS or record.why_given_up(label) is not None:
            yield context.engine, record.series, entry.name
