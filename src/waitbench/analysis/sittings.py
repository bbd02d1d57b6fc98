"""What a comparison, a sitting, tells of revisions that others may hold too. Pure."""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import product

import msgspec
from packaging.version import InvalidVersion, Version

from waitbench.analysis.rounds import kept, logs_by_round, mostly_disturbed
from waitbench.model.record import Context, Record, RevisionRecord, Series
from waitbench.model.revision import Commit, Release
from waitbench.model.run import Measurement

FEWEST_ROUNDS = 2
"""Below which a comparison tells nothing: one round has no variation."""
_SHOWN_DIGITS = 10
_DIGITS = 12
"""Of a digest: two of a million runs have one in common with a chance of 1 in 500."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
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
    variant: str = ""
    """Packages and knobs that it has besides, as they are typed."""

    @property
    def order(self) -> tuple[Version, bool, float, str]:
        """Sorts revisions by history: commits behind the release whose version they have."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            version = Version("0")
        return version, self.commit is not None, _seconds(self.date), self.name

    def is_called(self, text: str) -> bool:
        """Whether somebody who types this may mean it: its name, or first digits of a commit."""
        return text == self.name or bool(text and self.commit and self.commit.startswith(text))


class Sitting(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What one comparison says of some revisions in one scenario."""

    name: str
    machine: str
    """Its fingerprint."""
    conditions: str
    """What ratios may differ by: the machine and all else that is one in a sitting."""
    revisions: tuple[str, ...]
    logs: tuple[float, ...]
    """Of each revision, the mean over the rounds of the logarithm of its cost."""
    rounds: int
    squares: float
    """The sum of squares that round and revision do not explain."""
    runs: tuple[str, ...] = ()
    """Digests of its first revision's runs. Whatever has one of them is the same sitting."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of ``squares``."""
        return (self.rounds - 1) * (len(self.revisions) - 1)


class SittingFigures(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a comparison tells of one metric in one scenario."""

    series: Series
    metric: str
    sitting: Sitting
    entries: tuple[Entry, ...]
    """Of the sitting's revisions, in their order."""


class TriedRevision(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
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
            rounds = logs_by_round([record], having, metric)
            if mostly_disturbed(sum(one.disturbed for one in rounds), len(rounds)):
                continue
            found = sitting(
                name,
                str(record.measured_on.get("fingerprint", "unknown")),
                [entry.name for one in having if (entry := entries[one])],
                [one.logs for one in rounds],
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


def sitting(
    name: str,
    machine: str,
    revisions: Sequence[str],
    rounds: Sequence[Sequence[float]],
    *,
    conditions: str | None = None,
    runs: Sequence[str] = (),
) -> Sitting | None:
    """What the rounds of a comparison say; ``rounds`` has a logarithm for each of ``revisions``.

    ``conditions`` are the machine's, unless they are given. ``None`` where there is nothing to
    compare: below two rounds, or two revisions.
    """
    if len(rounds) < FEWEST_ROUNDS or len(revisions) < 2:
        return None
    logs = tuple(math.fsum(column) / len(rounds) for column in zip(*rounds, strict=True))
    grand = math.fsum(logs) / len(logs)
    squares = 0.0
    for one in rounds:
        level = math.fsum(one) / len(one)
        squares += math.fsum(
            (value - level - mean + grand) ** 2 for value, mean in zip(one, logs, strict=True)
        )
    return Sitting(
        name=name,
        machine=machine,
        conditions=machine if conditions is None else conditions,
        revisions=tuple(revisions),
        logs=logs,
        rounds=len(rounds),
        squares=squares,
        runs=tuple(runs),
    )


def name_of(source: Release | Commit) -> str:
    """What a revision is called in a history."""
    if isinstance(source, Release):
        return f"v{source.version}"
    return source.commit[:_SHOWN_DIGITS]


def entry_of(revision: RevisionRecord) -> Entry | None:
    """A revision of a comparison as one of history; ``None`` where it is not known what it is."""
    if revision.facts is None:
        return None
    version, commit = revision.facts.package_version, None
    said = re.fullmatch(r"(?:[^=]*=(?!=))?(?:[\w-]+@)?(v?\d+(?:\.\d+)+\w*)(?:\+.*)?", revision.text)
    if revision.origin in ("wheel", "ours"):
        # As the package says: v0.21 is the wheel of 0.21.0.
        name = name_of(Release(version))
    elif revision.origin == "source" and said:
        version = said[1].removeprefix("v")
        name = name_of(Release(version))
    elif revision.origin == "source" and revision.commit is not None:
        commit = revision.commit
        name = name_of(Commit(commit))
    else:
        return None
    return Entry(
        # What a revision has beside it makes it another one.
        name=name + revision.variant,
        engine=revision.engine or "",
        version=version,
        commit=commit,
        date=revision.commit_date,
        variant=revision.variant,
    )


def _digests(runs: Iterable[Measurement]) -> list[str]:
    """Tells runs apart by when they were and what they measured, wherever they are kept."""
    texts = (repr((run.started_at, sorted(run.metrics.items()))) for run in runs)
    return [hashlib.sha256(text.encode()).hexdigest()[:_DIGITS] for text in texts]


def _seconds(date: str | None) -> float:
    """A date of ISO 8601 as seconds; 0 where there is none."""
    if date is None:
        return 0.0
    # Python 3.10 does not know the letter.
    return datetime.fromisoformat(re.sub(r"Z$", "+00:00", date)).timestamp()
