"""What the comparisons in some folders tell of revisions, and which comparisons they lack."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from waitbench.analysis import sessions
from waitbench.analysis.history import Trend
from waitbench.analysis.sessions import FEWEST_ROUNDS, Session, entry_of
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record, Series
from waitbench.reporting.console import make_console
from waitbench.store import comparisons
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST, Contents
from waitbench.system import files

Tried = tuple[str, Series, str]
"""An engine, a series, and a revision that was tried in it, whatever came of that."""


@dataclass(frozen=True, kw_only=True)
class Due:
    """A comparison that the history lacks."""

    revisions: tuple[str, ...]
    """The anchor first; the newest last."""
    why: str


@dataclass(frozen=True)
class Stored:
    """What was read of some folders."""

    sessions: list[Session] = field(default_factory=list)
    tried: set[Tried] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """What could not be read, and why: it was printed."""


def anchor_among(named: str, found: Sequence[Session]) -> str:
    """The name of the anchor that somebody typed.

    Raises ``UsageError`` for a revision that no comparison holds.
    """
    entries = sorted({entry for one in found for entry in one.logs}, key=lambda one: one.order)
    for entry in entries:
        if named in (entry.name, entry.commit):
            return entry.name
    names = ", ".join(dict.fromkeys(entry.name for entry in entries))
    raise UsageError(f"--anchor {named!r} is in none of these comparisons. There are: {names}.")


def folders_in(roots: Sequence[Path]) -> list[Path]:
    """All folders that hold a comparison, in these and below them; ``latest`` is not followed.

    Their paths are absolute. Raises ``UsageError`` for a folder that is not there.
    """
    found = []
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
        for folder, below, names in os.walk(root.resolve()):
            below.sort()
            if COMPARISON_NAME in names:
                found.append(Path(folder))
    return list(dict.fromkeys(found))


def read(roots: Sequence[Path], *metrics: Metric) -> Stored:
    """What all comparisons tell of some metrics. Raises ``UsageError`` as ``folders_in`` does."""
    stored = Stored()
    for one in each(folders_in(roots), stored.unreadable):
        stored.sessions.extend(sessions_of(one, *metrics))
        stored.tried.update(tried(one.comparison, one.records))
    return stored


def sessions_of(contents: Contents, *metrics: Metric) -> list[Session]:
    """What one comparison tells of some metrics."""
    of, records = contents.comparison, contents.records
    return [*sessions.sessions_of(str(contents.folder), of, records, metrics)]


def each(folders: Sequence[Path], unreadable: list[str]) -> Iterator[Contents]:
    """The comparisons in these folders; why the others cannot be read is printed, and added."""
    errors = make_console(stderr=True)
    for folder in folders:
        try:
            contents = comparisons.resume(folder)
        except UsageError as error:
            unreadable.append(f"{folder} is left out: {error}")
            continue
        if contents is not None:
            yield contents
            if contents.cut_off:
                errors.print(contents.cut_off, soft_wrap=True)
    for why in unreadable:
        errors.print(why, soft_wrap=True)


def tried(context: Context, records: Iterable[Record]) -> Iterator[Tried]:
    """What a comparison need not be made for again; one that tells nothing is of no use."""
    entries = {one.label: entry for one in context.revisions if (entry := entry_of(one))}
    for record, (label, entry) in product(records, entries.items()):
        if context.mixed_origins:
            continue
        if len(record.of(label)) >= FEWEST_ROUNDS or record.why_given_up(label) is not None:
            yield context.engine, record.series, entry.name


def due(
    candidates: Sequence[str], measured: Collection[str], anchor: str, trends: Sequence[Trend]
) -> Iterator[Due]:
    """What to measure, what matters most first.

    That is a second session for each change point that only one has told of; then the
    ``candidates``, in order of history, that are not ``measured``: the newest first, each beside
    the anchor.
    """
    asked: set[tuple[str, str]] = set()
    for step in (one for trend in trends for one in trend.change_points if one.is_provisional):
        if (step.before, step.after) not in asked:
            asked.add((step.before, step.after))
            yield Due(
                revisions=tuple(dict.fromkeys((anchor, step.before, step.after))),
                why=f"only one session says that {step.after} differs from {step.before}",
            )
    for newest in reversed(candidates):
        if newest not in measured and newest != anchor:
            yield Due(revisions=(anchor, newest), why=f"{newest} is not measured")


def measured(tried: Collection[Tried], engine: str, wanted: Sequence[Series]) -> frozenset[str]:
    """The revisions that were tried in all of some series: one comparison measures them in all."""
    names = {name for _, _, name in tried}
    return frozenset(
        name for name in names if all((engine, series, name) in tried for series in wanted)
    )
