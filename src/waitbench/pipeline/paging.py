"""Folders of results -> the page of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from waitbench.analysis import history
from waitbench.analysis.sessions import Session
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline import stored_sessions
from waitbench.reporting import html
from waitbench.reporting.costs import AS_IT_IS, Units
from waitbench.reporting.formats import format_count
from waitbench.reporting.page import COSTS, ReadFolder, Trends, compose
from waitbench.reporting.page_parts import Scene
from waitbench.store import comparisons, formats, why
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.system import files


def write(path: Path, roots: Sequence[Path], newest: int, units: Units = AS_IT_IS) -> None:
    """Writes the page of all comparisons in these folders and below them.

    Of many, those that hold one of the ``newest`` revisions; 0 for all. Raises ``UsageError`` where
    there is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    folders = stored_sessions.folders_in(roots)
    lead: list[str] = []
    if len(folders) == 1:
        kept = _read(folders)
        trends = None
    else:
        told = _told(roots)
        chosen = _newest(folders, told, newest)
        kept = _read(chosen)
        trends = _trends(told)
        lead = _not_shown(len(folders), len(chosen), len(kept), newest)
    if not kept:
        named = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {named}. {MEASURE_FIRST}")
    files.write_text(path, html.render(compose(kept, trends, newest, units, lead)))


def _kept(folder: Path) -> ReadFolder | None:
    contents = comparisons.resume(folder)
    if contents is None or not contents.records:
        return None
    scenes = []
    for record in contents.records:
        scenes.append(
            Scene.of(
                record,
                why.of(folder, record.scenario),
                scenarios=len(contents.records),
            )
        )
    verdict = formats.read(folder, "verdict", dict[str, Any]) or {}
    headline = verdict.get("headline")
    return ReadFolder(
        folder=folder,
        context=contents.comparison,
        scenes=scenes,
        headline=(headline, str(verdict.get("outcome"))) if isinstance(headline, str) else None,
    )


def _read(folders: Sequence[Path]) -> list[ReadFolder]:
    """What they hold; of many, those that cannot be read are left out, as history says of each."""
    found = []
    for folder in folders:
        try:
            found.append(_kept(folder))
        except UsageError:
            if len(folders) == 1:
                raise
    return [one for one in found if one is not None]


def _not_shown(found: int, chosen: int, read: int, newest: int) -> list[str]:
    """Which comparisons are not on the page, and where they are."""
    said = []
    if chosen < found:
        said.append(
            f"{chosen} of {found} comparisons are shown, those with one of the newest {newest} "
            "revisions. The history is of all; --newest 0 shows all."
        )
    if read < chosen:
        comparisons = format_count(chosen - read, "comparison", "comparisons")
        said.append(f"{comparisons} cannot be read: see what the command printed.")
    return said


def _told(roots: Sequence[Path]) -> list[Session]:
    """What all comparisons tell of costs, of the engine that most tell of."""
    told = stored_sessions.read(roots, *(BY_NAME[name] for name in COSTS)).sessions
    engines = Counter(one.engine for one in told)
    most = max(engines, key=engines.__getitem__, default="")
    return [one for one in told if one.engine == most]


def _trends(told: Sequence[Session]) -> Trends:
    """Of each cost, relative to what most sessions hold."""
    anchor = history.commonest(told)
    return {
        name: history.trends([one for one in told if one.metric == name], anchor, history.MARGIN)
        for name in COSTS
        if anchor is not None
    }


def _newest(folders: Sequence[Path], told: Sequence[Session], newest: int) -> Sequence[Path]:
    """Those that hold one of the newest revisions, or none that history knows."""
    entries = {entry for one in told for entry in one.entries}
    shown = {entry.name for entry in sorted(entries, key=lambda entry: entry.order)[-newest:]}
    held: dict[str, set[str]] = {}
    for one in told:
        held.setdefault(one.folder, set()).update(entry.name for entry in one.entries)
    return [
        folder
        for folder in folders
        if str(folder) not in held or not shown.isdisjoint(held[str(folder)])
    ]
