"""Folders of results -> the page of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from waitbench import families
from waitbench.analysis import history, telling
from waitbench.analysis.telling import Told
from waitbench.analysis.trend import MARGIN
from waitbench.model.errors import UsageError
from waitbench.reporting.page import compose, document
from waitbench.reporting.page.compose import Kept
from waitbench.reporting.page.matrices import COSTS
from waitbench.reporting.page.sittings import Scene
from waitbench.store import comparisons, timelines, traces
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.store.index import find
from waitbench.system import files


def write(path: Path, roots: Sequence[Path], newest: int) -> None:
    """Writes the page of all comparisons in these folders and below them.

    Of many, those that hold one of the ``newest`` revisions; 0 for all. Raises ``UsageError`` where
    there is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    kept = [one for folder in _folders(roots) if (one := _kept(folder)) is not None]
    if not kept:
        named = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {named}. {MEASURE_FIRST}")
    if len(kept) == 1:
        page = compose.page(kept, {})
    else:
        told = [one for each in kept for one in _told(each)]
        shown = _newest(kept, told, newest)
        page = compose.page(shown, _trends(told), newest)
    files.write_text(path, document.render(page))


def _folders(roots: Sequence[Path]) -> list[Path]:
    found = []
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
        # Files of the first format have nothing that tells of the whole comparison.
        found += find([root]) or [root.resolve()]
    return list(dict.fromkeys(found))


def _kept(folder: Path) -> Kept | None:
    contents = comparisons.resume(folder)
    if contents.context is None or not contents.records:
        return None
    scenes = []
    for record in contents.records:
        sampled = contents.timelines.get(record.scenario)
        scenes.append(
            Scene.of(
                record,
                timelines.read(sampled) if sampled else (),
                traces.of(folder, record.scenario),
            )
        )
    verdict = contents.documents.get("verdict", {})
    headline = verdict.get("headline")
    return Kept(
        folder=folder,
        context=contents.context,
        scenes=scenes,
        headline=(headline, verdict.get("passed") is True) if isinstance(headline, str) else None,
        tables=families.tables(contents),
    )


def _told(kept: Kept) -> list[Told]:
    records = [scene.record for scene in kept.scenes]
    return [
        one for one in telling.tell(str(kept.folder), kept.context, records) if one.metric in COSTS
    ]


def _trends(told: Sequence[Told]) -> compose.Trends:
    """Of each cost, relative to what most sittings hold; of the engine that most tell of."""
    engines = Counter(one.entries[0].engine for one in told)
    own = [one for one in told if one.entries[0].engine == max(engines, key=engines.__getitem__)]
    anchor = history.commonest(own)
    return {
        name: history.trends([one for one in own if one.metric == name], anchor, MARGIN)
        for name in COSTS
        if anchor is not None
    }


def _newest(kept: Sequence[Kept], told: Sequence[Told], newest: int) -> Sequence[Kept]:
    """Those that hold one of the newest revisions, or none that history knows."""
    entries = {entry for one in told for entry in one.entries}
    shown = {entry.name for entry in sorted(entries, key=lambda entry: entry.order)[-newest:]}
    held: dict[str, set[str]] = {}
    for one in told:
        held.setdefault(one.sitting.name, set()).update(one.sitting.revisions)
    return [
        one for one in kept if not newest or not shown.isdisjoint(held.get(str(one.folder), shown))
    ]
