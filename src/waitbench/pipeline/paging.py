"""Folders of results -> the page of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from waitbench.analysis import history
from waitbench.analysis.sessions import Session
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline import stored_sessions
from waitbench.pipeline.concluding import answer_of, compared_in, verdict_of
from waitbench.reporting import html
from waitbench.reporting.costs import AS_IT_IS, Units
from waitbench.reporting.document import Page
from waitbench.reporting.formats import format_count
from waitbench.reporting.page import COSTS, Trends, compose, compose_history
from waitbench.store import comparisons, why
from waitbench.store.comparisons import MEASURE_FIRST, Contents
from waitbench.system import files


def write(path: Path, roots: Sequence[Path], newest: int, units: Units = AS_IT_IS) -> None:
    """Writes the page of all comparisons in these folders and below them.

    Of many, the history of the ``newest`` revisions; 0 for all. Raises ``UsageError`` where there
    is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    folders = stored_sessions.folders_in(roots)
    contents = [comparisons.resume(folder) for folder in folders] if len(folders) == 1 else []
    if len(folders) > 1:
        page = _of_many(roots, folders, newest)
    elif contents and contents[0] is not None and contents[0].records:
        page = page_of(contents[0], units)
    else:
        page = None
    if page is None:
        named = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {named}. {MEASURE_FIRST}")
    files.write_text(path, html.render(page))


def page_of(contents: Contents, units: Units = AS_IT_IS) -> Page:
    """The page of one comparison."""
    compared = compared_in(contents)
    verdict = verdict_of(contents)
    answer = answer_of(compared, verdict, contents.records)
    reasons = {one.scenario: why.of(contents.folder, one.scenario) for one in contents.records}
    return compose(contents, compared, answer, verdict, reasons, units)


def _of_many(roots: Sequence[Path], folders: Sequence[Path], newest: int) -> Page | None:
    found = [contents for folder in folders if (contents := _read(folder)) is not None]
    if not found:
        return None
    lacking = format_count(len(folders) - len(found), "comparison", "comparisons")
    said = f"{lacking} cannot be read: see what the command printed."
    return compose_history(
        found, _trends(_told(roots)), newest, [said] if len(found) < len(folders) else []
    )


def _read(folder: Path) -> Contents | None:
    """A comparison; ``None`` where it cannot be read, as history says of each."""
    try:
        contents = comparisons.resume(folder)
    except UsageError:
        return None
    return contents if contents is not None and contents.records else None


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
