"""What the comparisons that are kept tell of revisions; each is read once."""

import gc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from waitbench.analysis import sittings
from waitbench.analysis.history import commonest
from waitbench.analysis.sittings import SittingFigures, TriedRevision
from waitbench.families import METRICS
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.reporting.console import make_console
from waitbench.store import comparisons
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.store.index import Index, find
from waitbench.system import files, installation
from waitbench.system.places import PACKAGE, Cache

Kind = TypeVar("Kind")
_FIGURES, _TRIED, _LOST = "figures", "tried", "lost"
"""What the index keeps of a folder: the first by metric, the others beside metrics."""


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


def anchor_among(named: str | None, told: Sequence[SittingFigures]) -> str:
    """The name of the anchor.

    Raises ``UsageError`` for a revision that no comparison holds, and for the first digits of
    several.
    """
    if named is None:
        return commonest(told) or ""
    entries = {entry.name: entry for one in told for entry in one.entries}
    meant = [one for one in entries.values() if one.is_called(named)]
    if len(meant) == 1:
        return meant[0].name
    names = sorted(meant or entries.values(), key=lambda entry: entry.order)
    why = "may be any of these" if meant else "is in none of these comparisons. There are"
    raise UsageError(f"--anchor {named!r} {why}: {', '.join(entry.name for entry in names)}.")


def figures(
    roots: Sequence[Path], *metrics: Metric, lost: list[str] | None = None
) -> list[SittingFigures]:
    """What all comparisons tell of some metrics; ``lost`` grows by what could not be read.

    Raises ``UsageError`` for a folder that is not there.
    """
    return _read(roots, [metric.name for metric in metrics], _FIGURES, SittingFigures, lost)


def tried_revisions(roots: Sequence[Path]) -> list[TriedRevision]:
    """What all comparisons tried, whatever came of it. Raises ``UsageError`` likewise."""
    return _read(roots, [_TRIED], _TRIED, TriedRevision)


def _read(
    roots: Sequence[Path],
    metrics: Sequence[str],
    name: str,
    kind: type[Kind],
    lost: list[str] | None = None,
) -> list[Kind]:
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
    index = Index(Cache().folder("history") / "index.sqlite", _tell, _version())
    errors = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task("Reading results", total=None)

        def step(number: int, total: int) -> None:
            bar.update(task, completed=number, total=total)

        # All that is read stays. To look for garbage among it again and again took a fifth of the
        # time with 10,000 comparisons.
        gc.disable()
        try:
            contents = list(index.told(find(roots), [*metrics, _LOST], step))
            plain = [one for content in contents for one in content.get(name, ())]
            found = msgspec.convert(plain, list[kind])  # type: ignore[valid-type]
        finally:
            gc.freeze()
            gc.enable()
    said = [f"{folder} is left out: {why}" for folder, why in index.unreadable.items()]
    said += [why for content in contents for why in content.get(_LOST, ())]
    for each in said:
        errors.print(each, soft_wrap=True)
    if lost is not None:
        lost += said
    return found


def _tell(folder: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    contents = comparisons.salvage(folder)
    lost = [*contents.lost, *contents.rebuilt]
    if contents.context is None:
        return [(_LOST, {_LOST: lost})] if lost else []
    by_metric: dict[str, list[SittingFigures]] = {}
    for one in sittings.tell(str(folder), contents.context, contents.records):
        by_metric.setdefault(one.metric, []).append(one)
    tried = list(sittings.tried(contents.context, contents.records))
    return [
        (_TRIED, {_TRIED: msgspec.to_builtins(tried)}),
        *((name, {_FIGURES: msgspec.to_builtins(told)}) for name, told in by_metric.items()),
        *([(_LOST, {_LOST: lost})] if lost else []),
    ]


def _version() -> str:
    """Of the code that tells: what another one told is not taken for its own."""
    return installation.digest(*(PACKAGE / room for room in ("model", "store", "analysis")))
