"""Comparisons, and what they tell together -> everything that a page shows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.analysis import gate
from waitbench.analysis.history import Trend
from waitbench.analysis.sitting_figures import series_of
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Context
from waitbench.model.series import Series, titles
from waitbench.reporting import summary
from waitbench.reporting.cell_table import CellTable
from waitbench.reporting.gate.texts import failed_text
from waitbench.reporting.page import matrices, trend
from waitbench.reporting.page.parts import Heading, Page, Part, Section, Table
from waitbench.reporting.page.sittings import Scene, of_cells, sitting
from waitbench.reporting.page.sources import source
from waitbench.reporting.trends import sentence

Trends = Mapping[str, Sequence[Trend]]
"""By the metric's name."""

_MORE = "all-scenarios"
_OWN_IDS = {
    _MORE, "cost", "drawings", "how", "how-heading", "revisions", "said", "scenarios", "summary",
    "theme",
}  # fmt: skip
"""What the page itself calls its parts: a scenario may have any name."""


@dataclass(frozen=True, kw_only=True)
class ReadFolder:
    """What a folder of results holds, read."""

    folder: Path
    context: Context
    scenes: Sequence[Scene]
    headline: tuple[str, bool] | None = None
    """What its gate said, and whether it passed."""
    tables: Sequence[CellTable] = ()
    """What only its families have."""


def page(kept: Sequence[ReadFolder], trends: Trends | None = None, newest: int = 0) -> Page:
    """A page of one comparison; or, with ``trends``, of several and what they tell together.

    ``newest``: only so many revisions are shown of trends; 0 for all.
    """
    # Comparisons of a series may all be older than the newest revisions.
    called = titles(
        (
            *(series_of(scene.record) for one in kept for scene in one.scenes),
            *(one.series for found in (trends or {}).values() for one in found),
        )
    )
    ids = _ids(called)
    sections = [
        _section(series, title, ids[series], kept, trends, newest)
        for series, title in called.items()
    ]
    more = [of_cells(table) for one in kept for table in one.tables]
    if more:
        sections.append(_more(more))
    return Page(
        title=_title(kept, trends),
        lead=tuple(_lead(kept, trends, called)),
        verdicts=tuple(one.headline for one in kept if one.headline is not None),
        matrices=_matrices(kept, trends, ids, called, newest),
        sections=tuple(sections),
        sources=tuple(
            source(one.folder, one.context, [scene.record for scene in one.scenes]) for one in kept
        ),
    )


def _title(kept: Sequence[ReadFolder], trends: Trends | None) -> str:
    if trends is not None:
        comparisons = "1 comparison" if len(kept) == 1 else f"{len(kept)} comparisons"
        return f"What workers cost while they wait: {comparisons}"
    first, *others = kept[0].context.labels
    return f"{', '.join(others)} against {first}" if others else first


def _lead(
    kept: Sequence[ReadFolder], trends: Trends | None, called: Mapping[Series, str]
) -> list[str]:
    if trends is None:
        scenes = kept[0].scenes
        failed = [one for scene in scenes for one in gate.failed_runs(scene.record)]
        return [
            *summary.sentences([scene.comparison for scene in scenes]),
            *map(failed_text, failed),
        ]
    name, found = next((one for one in trends.items() if one[1]), ("", ()))
    said = [
        f"{called[one.series]}: {sentence(step, BY_NAME[name])}"
        for one in found
        for step in one.steps
    ]
    if found and not said:
        scenarios = "1 scenario" if len(found) == 1 else f"{len(found)} scenarios"
        said.append(f"No step is claimed in {scenarios}.")
    return said


def _matrices(
    kept: Sequence[ReadFolder],
    trends: Trends | None,
    ids: Mapping[Series, str],
    called: Mapping[Series, str],
    newest: int,
) -> tuple[Table, ...]:
    if trends is None:
        scenes = kept[0].scenes
        anchors = {scene.record.scenario: ids[series_of(scene.record)] for scene in scenes}
        return matrices.of_comparisons([scene.comparison for scene in scenes], anchors)
    headings = {
        series: Heading(series.scenario, title.removeprefix(f"{series.scenario}, "), ids[series])
        for series, title in called.items()
    }
    return tuple(
        matrices.of_trends(found, BY_NAME[name], headings, newest)
        for name, found in trends.items()
        if found
    )


def _section(
    series: Series,
    title: str,
    identity: str,
    kept: Sequence[ReadFolder],
    trends: Trends | None,
    newest: int,
) -> Section:
    along = [
        Part(
            title=f"{BY_NAME[name].heading}, through history",
            tables=(trend.table(one, BY_NAME[name], newest),),
            charts=(trend.chart(one, BY_NAME[name], newest),),
        )
        for name, found in (trends or {}).items()
        for one in found
        if one.series == series
    ]
    sittings = [
        sitting(scene, brief=trends is not None)
        for one in kept
        for scene in one.scenes
        if series_of(scene.record) == series
    ]
    return Section(id=identity, title=title, parts=(*along, *sittings))


def _more(tables: Sequence[Table]) -> Section:
    return Section(
        id=_MORE,
        title="Scenarios side by side",
        parts=(Part(title="What only these scenarios have", tables=tuple(tables)),),
    )


def _ids(called: Mapping[Series, str]) -> dict[Series, str]:
    """The scenario where only one has it, and no two the same."""
    found: dict[Series, str] = {}
    for series, title in called.items():
        alone = sum(one.scenario == series.scenario for one in called) == 1
        identity = _slug(series.scenario if alone else title)
        taken = {*_OWN_IDS, *found.values()}
        found[series] = next(
            one
            for one in (identity, *(f"{identity}-{n}" for n in range(2, len(called) + 2)))
            if one not in taken
        )
    return found


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-") or "scenario"
