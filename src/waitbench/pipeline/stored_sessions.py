"""What the comparisons in some folders tell of revisions."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import track

from waitbench.analysis import sessions
from waitbench.analysis.sessions import Session, Tried
from waitbench.engines import METRICS
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.reporting.console import make_console
from waitbench.store import comparisons
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST
from waitbench.system import files


@dataclass(frozen=True)
class Stored:
    """What was read of some folders."""

    sessions: list[Session] = field(default_factory=list)
    tried: set[Tried] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """What could not be read, and why: it was printed."""


def metric_named(name: str) -> Metric:
    """The metric of that name. Raises ``UsageError``."""
    known = {metric.name: metric for metric in METRICS}
    if name not in known:
        raise UsageError(f"--metric {name!r} is not one of: {', '.join(known)}.")
    return known[name]


def margin_of(percent: float) -> float:
    """A margin as a share. Raises ``UsageError``."""
    if not 0 <= percent <= 1000:
        raise UsageError(f"--margin {percent:g}: must be from 0 to 1000 percent.")
    return percent / 100


def anchor_among(named: str, found: Sequence[Session]) -> str:
    """The name of the anchor that somebody typed.

    Raises ``UsageError`` for a revision that no comparison holds, and for the first digits of
    several.
    """
    entries = {entry.name: entry for one in found for entry in one.entries}
    meant = [one for one in entries.values() if one.is_called(named)]
    if len(meant) == 1:
        return meant[0].name
    names = sorted(meant or entries.values(), key=lambda entry: entry.order)
    why = "may be any of these" if meant else "is in none of these comparisons. There are"
    raise UsageError(f"--anchor {named!r} {why}: {', '.join(entry.name for entry in names)}.")


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
    stored, errors = Stored(), make_console(stderr=True)
    folders = track(
        folders_in(roots), "Reading results", console=errors, transient=True,
        disable=not errors.is_terminal,
    )  # fmt: skip
    for folder in folders:
        try:
            contents = comparisons.resume(folder)
        except UsageError as error:
            stored.unreadable.append(f"{folder} is left out: {error}")
            continue
        if contents is not None:
            of, records = contents.comparison, contents.records
            stored.sessions.extend(sessions.sessions_of(str(folder), of, records, metrics))
            stored.tried.update(sessions.tried(of, records))
            if contents.cut_off:
                errors.print(contents.cut_off, soft_wrap=True)
    for each in stored.unreadable:
        errors.print(each, soft_wrap=True)
    return stored
