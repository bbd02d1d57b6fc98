"""Folders of comparisons -> sessions, and the comparisons that their history lacks."""

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
"""An engine, a series, and a revision that was measured in it, or failed."""


@dataclass(frozen=True, kw_only=True)
class Due:
    """A comparison that the history lacks."""

    revisions: tuple[str, ...]
    """The anchor first, the newest last."""
    why: str


@dataclass(frozen=True)
class Stored:
    """The sessions of some folders."""

    sessions: list[Session] = field(default_factory=list)
    tried: set[Tried] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """Folders that could not be read, with the reasons, which were printed."""


def anchor_among(text: str, sessions: Sequence[Session]) -> str:
    """The name of an anchor. Raises ``UsageError`` for a revision that no session has."""
    entries = sorted({it for session in sessions for it in session.logs}, key=lambda it: it.order)
    for entry in entries:
        if text in (entry.name, entry.commit):
            return entry.name
    names = ", ".join(dict.fromkeys(entry.name for entry in entries))
    raise UsageError(f"--anchor {text!r} is in none of these comparisons. There are: {names}.")


def folders_in(roots: Sequence[Path]) -> list[Path]:
    """The folders of comparisons, in some folders and below, by absolute paths without links.

    Raises ``UsageError`` for a missing folder.
    """
    results = []
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
        for folder, below, names in os.walk(root.resolve()):
            below.sort()
            if COMPARISON_NAME in names:
                results.append(Path(folder))
    return list(dict.fromkeys(results))


def read(roots: Sequence[Path], *metrics: Metric) -> Stored:
    """Reads the sessions of some metrics. Raises ``UsageError`` as ``folders_in`` does."""
    stored = Stored()
    for contents in each(folders_in(roots), stored.unreadable):
        stored.sessions.extend(sessions_of(contents, *metrics))
        stored.tried.update(tried(contents.comparison, contents.records))
    return stored


def sessions_of(contents: Contents, *metrics: Metric) -> list[Session]:
    comparison, records = contents.comparison, contents.records
    return [*sessions.sessions_of(str(contents.folder), comparison, records, metrics)]


def each(folders: Sequence[Path], unreadable: list[str]) -> Iterator[Contents]:
    """Reads comparisons; prints the errors of unreadable ones, and adds them to a list."""
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
    """The revisions that need no other comparison; mixed origins are of no use in a history."""
    revisions = () if context.mixed_origins else context.revisions
    entries = {it.label: entry for it in revisions if (entry := entry_of(it))}
    for record, (label, entry) in product(records, entries.items()):
        if len(record.of(label)) >= FEWEST_ROUNDS or record.why_given_up(label) is not None:
            yield context.engine, record.series, entry.name


def due(
    candidates: Sequence[str], measured: Collection[str], anchor: str, trends: Sequence[Trend]
) -> Iterator[Due]:
    """The comparisons that the history lacks, the most important first.

    A second session for each provisional change point; then each candidate that is not measured,
    with the anchor: the newest first. Candidates are in the order of history.
    """
    steps: set[tuple[str, str]] = set()
    for step in (it for trend in trends for it in trend.change_points if it.is_provisional):
        if (step.before, step.after) not in steps:
            steps.add((step.before, step.after))
            yield Due(
                revisions=tuple(dict.fromkeys((anchor, step.before, step.after))),
                why=f"only one session says that {step.after} differs from {step.before}",
            )
    for newest in reversed(candidates):
        if newest not in measured and newest != anchor:
            yield Due(revisions=(anchor, newest), why=f"{newest} is not measured")


def measured(tried: Collection[Tried], engine: str, series: Sequence[Series]) -> frozenset[str]:
    """The revisions that were tried in all of some series: one comparison measures them in all."""
    names = {name for _, _, name in tried}
    return frozenset(name for name in names if all((engine, it, name) in tried for it in series))
