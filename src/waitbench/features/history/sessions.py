"""Reads sessions from folders of results: the costs of one scenario in one comparison."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

from waitbench.analysis.rounds import by_round, mostly_disturbed
from waitbench.model.metrics import Metric
from waitbench.model.record import ComparisonHeader, ScenarioResults, Series, why_given_up
from waitbench.model.revision import SHOWN_DIGITS, Origin, Revision, Source
from waitbench.pipeline import gathering
from waitbench.store.comparisons import StoredComparison

Tried = tuple[str, Series, frozenset[str]]
"""An engine, a series, and the names of revisions that one comparison measured, or that failed."""
FEWEST_ROUNDS = 2
"""The fewest rounds of a session, because one round has no variance."""


@dataclass(frozen=True, kw_only=True)
class HistoryRevision:
    """A revision in a history, independent of its labels in comparisons."""

    name: str
    """A release such as ``v0.21.1``, or the first digits of a commit."""
    version: str
    """The version of the package. A commit has the version of the release before it."""
    commit: str | None
    """All digits; ``None`` for releases."""
    date: str | None
    """The committer's date in ISO 8601, if known."""

    @property
    def order(self) -> tuple[Version, bool, float, str]:
        """The sort key. Commits follow the release of the same version, by date."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            version = Version("0")
        # Python 3.10 cannot parse all ISO 8601 dates; msgspec can.
        date_s = msgspec.convert(self.date, datetime).timestamp() if self.date else 0.0
        return version, self.commit is not None, date_s, self.name


@dataclass(frozen=True, kw_only=True)
class HistorySession:
    """The costs of revisions in one scenario of a comparison, by one metric."""

    folder: str
    started: str
    """The start of the first run, by which copies of a folder are recognized."""
    engine: str
    series: Series
    machine: str
    metric: Metric
    logs: Mapping[HistoryRevision, tuple[float, ...]]
    """Logarithms of the costs of two or more revisions, one for each round that has all of them."""

    @property
    def rounds(self) -> int:
        return len(next(iter(self.logs.values())))


@dataclass(frozen=True)
class Stored:
    """The sessions in some folders of results."""

    sessions: list[HistorySession] = field(default_factory=list)
    tried: set[Tried] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """Messages, already printed, about folders that could not be read."""


def read(roots: Sequence[Path], metric: Metric) -> Stored:
    """Reads the sessions in some folders and below. Raises ``UsageError`` for a missing folder."""
    stored = Stored()
    for contents in gathering.read_each(gathering.folders_in(roots), stored.unreadable):
        stored.sessions.extend(sessions_of(contents, metric))
        stored.tried.update(tried(contents.comparison, contents.records))
    return stored


def sessions_of(contents: StoredComparison, metric: Metric) -> Iterator[HistorySession]:
    """The sessions of a comparison, one for each scenario, by ``metric``."""
    context = contents.comparison
    by_label = _by_label(context)
    for record in contents.records:
        # Only rounds with all revisions count, so a revision that mostly failed is left out.
        fewest = len(record.rounds) / 2
        labels = [it for it in by_label if len(by_round([(record, it)], metric)) >= fewest]
        rounds = by_round([(record, label) for label in labels], metric)
        if mostly_disturbed(len(record.disturbed_rounds & rounds.keys()), len(rounds)):
            continue
        columns = zip(*rounds.values(), strict=True)
        logs = {
            by_label[label]: tuple(math.log(max(cost, metric.resolution)) for cost in costs)
            for label, costs in zip(labels, columns, strict=False)
        }
        # With fewer logs than labels, two labels name one revision: it has no single cost.
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


def without_copies(sessions: Iterable[HistorySession]) -> list[HistorySession]:
    """Removes copies of sessions. Of several copies, it keeps the one with most rounds."""
    key = attrgetter("series", "machine", "metric", "engine", "started")
    by_size = sorted(sessions, key=lambda session: (session.rounds, len(session.logs)))
    return sorted({key(it): it for it in by_size}.values(), key=attrgetter("folder"))


def machine_of(record: ScenarioResults, revisions: Iterable[Revision]) -> str:
    """Describes the kind of machine: CPU, kernel, Python, and compiler or origin.

    Hosted runners of one kind count as one machine. Their differences are part of the variance
    between sessions.
    """
    pythons = {it.build.python for it in revisions if it.build}
    builds = {it.build.compiler or it.origin.value for it in revisions if it.build}
    machine = (record.measured_on.get(name, "unknown") for name in ("cpu", "cpus", "kernel"))
    return " · ".join(map(str, [*machine, *sorted(pythons), *sorted(builds)]))


def name_of(source: Source) -> str:
    """The name of a revision in histories: see ``HistoryRevision.name``."""
    if source.origin.is_release:
        return f"v{source.identity.removeprefix('v')}"
    return source.identity[:SHOWN_DIGITS]


def history_revision(revision: Revision) -> HistoryRevision | None:
    """Identifies a release or a commit; ``None`` for code that may change, or was not built."""
    origin = revision.origin
    if revision.build is None or not (origin.is_release or origin is Origin.SOURCE):
        return None
    # The text of a revision may be shorter: v0.21 is release 0.21.0.
    version, commit = revision.build.package_version, None
    if origin is Origin.SOURCE:
        # A release that was built here, such as LABEL=v0.21.0.
        release = re.fullmatch(r"(?:[^=]*=(?!=))?v?(\d+(?:\.\d+)+\w*)", revision.text)
        version, commit = (release[1], None) if release else (version, revision.commit)
        if not release and commit is None:
            return None
    source = Source(Origin.SOURCE, commit) if commit else Source(Origin.WHEEL, version)
    return HistoryRevision(
        name=name_of(source), version=version, commit=commit, date=revision.commit_date
    )


def tried(context: ComparisonHeader, records: Sequence[ScenarioResults]) -> Iterator[Tried]:
    """The revisions that have enough rounds, or were given up, and need no further comparison."""
    for record in records:
        names = (
            revision.name
            for label, revision in _by_label(context).items()
            if len(record.of(label)) >= FEWEST_ROUNDS or why_given_up(records, record, label)
        )
        if not mostly_disturbed(len(record.disturbed_rounds), len(record.rounds)):
            yield context.engine, record.series, frozenset(names)


def _by_label(context: ComparisonHeader) -> dict[str, HistoryRevision]:
    """The revisions of a comparison that other comparisons can measure as well."""
    # If origins are mixed, part of each difference may come from the compiler.
    revisions = () if context.mixed_origins else context.revisions
    return {it.label: known for it in revisions if (known := history_revision(it))}
