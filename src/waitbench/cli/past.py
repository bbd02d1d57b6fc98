"""What the comparisons that are kept tell of revisions; each is read once."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from waitbench.analysis import sittings, telling
from waitbench.analysis.history import commonest
from waitbench.analysis.telling import Told
from waitbench.families import METRICS
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.reporting.console import make_console
from waitbench.store import comparisons
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.store.index import Index, find
from waitbench.system import files
from waitbench.system.places import Cache


def metric_named(name: str) -> Metric:
    """The metric of that name. Raises ``UsageError``."""
    known = {metric.name: metric for metric in METRICS}
    if name not in known:
        raise UsageError(f"--metric {name!r} is not one of: {', '.join(known)}.")
    return known[name]


def anchor_among(named: str | None, told: Sequence[Told]) -> str:
    """The name of the anchor. Raises ``UsageError`` for a revision that no comparison holds."""
    if named is None:
        return commonest(told) or ""
    entries = {entry for one in told for entry in one.entries}
    for entry in entries:
        if named == entry.name or (entry.commit or "").startswith(named):
            return entry.name
    names = sorted(entries, key=lambda entry: entry.order)
    raise UsageError(
        f"--anchor {named!r} is in none of these comparisons. There are: "
        f"{', '.join(entry.name for entry in names)}."
    )


def told(roots: Sequence[Path], metric: Metric) -> list[Told]:
    """What all comparisons tell of a metric. Raises ``UsageError`` where there are none."""
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

        found = [
            one
            for content in index.told(find(roots), metric.name, step)
            for one in telling.read(content)
        ]
    for folder, why in index.unreadable.items():
        errors.print(f"{folder} is left out: {why}", soft_wrap=True)
    return found


def _tell(folder: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    contents = comparisons.resume(folder)
    if contents.context is None:
        return []
    by_metric: dict[str, list[Told]] = {}
    for one in telling.tell(str(folder), contents.context, contents.records):
        by_metric.setdefault(one.metric, []).append(one)
    return [(name, telling.plain(told)) for name, told in by_metric.items()]


def _version() -> str:
    """Of the code that tells: what another one told is not taken for its own."""
    sources = (Path(module.__file__ or "") for module in (telling, sittings))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
