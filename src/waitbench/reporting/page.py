"""Comparisons, and what they tell together -> everything that a page shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.analysis.history import Trend
from waitbench.analysis.scan import scans
from waitbench.analysis.sessions import series_of
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Context, Series
from waitbench.reporting import cards, scan
from waitbench.reporting.costs import AS_IT_IS, Units
from waitbench.reporting.document import (
    Card,
    Cell,
    Heading,
    Page,
    Part,
    Ratio,
    Section,
    Table,
    Word,
    ratio_cell,
)
from waitbench.reporting.formats import NOTHING, format_count
from waitbench.reporting.history import sentence, titled, titles
from waitbench.reporting.page_parts import Scene, along_history, moment, sitting, source
from waitbench.reporting.summary import DISTURBED_MARK, DISTURBED_NOTE, TOTAL_MARK, TOTAL_NOTE

Trends = Mapping[str, Sequence[Trend]]
"""By the metric's name."""

COSTS = ("steady", "cpu", "system", "real")
"""What there is a matrix of, the one that is looked at first before the others."""
CHANCE_MARK = "?"
CHANCE_NOTE = (
    "? beside an interval on one side of no change: among so many figures, one may lie there by "
    "chance. More rounds decide."
)
_NOTES = {TOTAL_MARK: TOTAL_NOTE, DISTURBED_MARK: DISTURBED_NOTE, CHANCE_MARK: CHANCE_NOTE}

_NAMED = 3
"""So many candidates are named in the title."""
_MOST_FAILURES = 4
"""So many are shown above all else."""
_STEPS = "steps"
_OWN_IDS = {
    _STEPS, "clear", "cost", "drawings", "how", "how-heading", "library", "nothing",
    "revisions", "said", "scenarios", "summary", "theme",
}  # fmt: skip
"""What the page itself calls its parts: a scenario may have any name."""


@dataclass(frozen=True, kw_only=True)
class ReadFolder:
    """What a folder of results holds, read."""

    folder: Path
    context: Context
    scenes: Sequence[Scene]
    headline: tuple[str, str] | None = None
    """What its gate said, and its outcome."""


def compose(
    kept: Sequence[ReadFolder],
    trends: Trends | None = None,
    newest: int = 0,
    units: Units = AS_IT_IS,
    lead: Sequence[str] = (),
) -> Page:
    """A page of one comparison; or, with ``trends``, of several and what they tell together.

    ``newest``: only so many revisions are shown of trends; 0 for all. ``lead``: what must be known
    of the page before all else, such as what is not on it.
    """
    # Comparisons of a series may all be older than the newest revisions.
    called = titles(
        (
            *(series_of(scene.record) for one in kept for scene in one.scenes),
            *(one.series for found in (trends or {}).values() for one in found),
        )
    )
    ids = _ids(called)
    curves = _curves(kept) if trends is None else []
    sections = [
        *curves,
        *(
            _section(series, title, ids[series], kept, trends, newest, units)
            for series, title in called.items()
        ),
    ]
    steps = _steps(trends)
    if steps is not None:
        sections.insert(0, steps)
    return Page(
        title=_title(kept, trends),
        facts=tuple(_facts(kept, trends)),
        lead=(*lead, *_warnings(kept, trends)),
        failures=_failures(kept, trends),
        cards=_cards(kept, trends),
        verdicts=tuple(one.headline for one in kept if one.headline is not None),
        matrices=_matrices(kept, trends, ids, called, newest),
        sections=tuple(sections),
        sources=tuple(
            source(one.folder, one.context, [scene.record for scene in one.scenes]) for one in kept
        ),
    )


def _title(kept: Sequence[ReadFolder], trends: Trends | None) -> str:
    if trends is not None:
        comparisons = format_count(len(kept), "comparison", "comparisons")
        return f"What workers cost while they wait: {comparisons}"
    first, *others = kept[0].context.labels
    if not others:
        return first
    who = ", ".join(others) if len(others) <= _NAMED else f"{len(others)} revisions"
    return f"{who} against {first}"


def _facts(kept: Sequence[ReadFolder], trends: Trends | None) -> Iterator[str]:
    """What was measured, when, and how many runs of it failed."""
    records = [scene.record for one in kept for scene in one.scenes]
    scenarios = len({record.scenario for record in records})
    yield format_count(scenarios, "scenario", "scenarios")
    if trends is None:
        yield kept[0].context.topology
        counts = sorted({scene.comparison.rounds for scene in kept[0].scenes})
        rounds = format_count(counts[-1], "round", "rounds")
        yield rounds if len(counts) == 1 else f"{counts[0]} to {rounds}"
    begun = sorted(moment(one.context.started_at) for one in kept)
    yield begun[0] if begun[0] == begun[-1] else f"{begun[0]} to {begun[-1]}"
    failed = sum(len(record.failures) for record in records)
    runs = format_count(sum(len(record.measurements) for record in records), "run", "runs")
    yield (
        f"{runs}, {failed or 'none'} failed"
        if not failed
        else f"{runs} with figures, {failed} failed"
    )


def _warnings(kept: Sequence[ReadFolder], trends: Trends | None) -> Iterator[str]:
    if trends is None:
        if len(kept[0].context.labels) == 1:
            yield "One revision: there is nothing to compare it with."
        if kept[0].context.mixed_origins:
            yield "Mixed origins: different compilers built these; a difference may be theirs."


def _failures(kept: Sequence[ReadFolder], trends: Trends | None) -> tuple[str, ...]:
    """What failed of the baseline, which has no card; and of all that has a card of its history."""
    found = []
    for one in kept:
        compared = [scene.comparison for scene in one.scenes]
        labels = one.context.labels[:1] if trends is None else one.context.labels
        found += [
            f"{label}, {text}" for label in labels for text in cards.failures(compared, label)
        ]
    shown = list(dict.fromkeys(found))
    more = [f"{len(shown) - _MOST_FAILURES} more below"] if len(shown) > _MOST_FAILURES else []
    return (*shown[:_MOST_FAILURES], *more)


def _cards(kept: Sequence[ReadFolder], trends: Trends | None) -> tuple[Card, ...]:
    if trends is None:
        return cards.of_comparisons([scene.comparison for scene in kept[0].scenes])
    name, found = next((one for one in trends.items() if one[1]), (COSTS[0], ()))
    return cards.of_trends(found, BY_NAME[name], list(titled(found)))


def _steps(trends: Trends | None) -> Section | None:
    """A sentence for each step of the cost that is looked at first."""
    name, found = next((one for one in (trends or {}).items() if one[1]), ("", ()))
    said = tuple(
        f"{title}: {sentence(step, BY_NAME[name])}"
        for title, one in titled(found).items()
        for step in one.change_points
    )
    if not said:
        return None
    steps = format_count(len(said), "change point", "change points")
    part = Part(title=f"{steps} of {BY_NAME[name].title}", sentences=said)
    return Section(id=_STEPS, title="Change points", parts=(part,))


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
        return _of_comparisons([scene.comparison for scene in scenes], anchors)
    headings = {
        series: Heading(
            series.scenario, more=title.removeprefix(f"{series.scenario}, "), target=ids[series]
        )
        for series, title in called.items()
    }
    return tuple(
        _of_trends(found, BY_NAME[name], headings, newest)
        for name, found in trends.items()
        if found
    )


def _of_comparisons(
    comparisons: Sequence[Comparison], anchors: Mapping[str, str]
) -> tuple[Table, ...]:
    """Candidates by scenarios, relative to the baseline. ``anchors`` are sections by scenario.

    The first is of what the verdicts are of, so that it agrees with them.
    """
    labels = dict.fromkeys(row.label for one in comparisons for row in one.rows[1:])
    if not labels:
        return ()
    headings = [Heading(one.scenario, target=anchors[one.scenario]) for one in comparisons]
    tables = []
    for name in COSTS:
        if not any(name in row.ratios for one in comparisons for row in one.rows):
            continue
        cells = {label: [_cell(one, label, name) for one in comparisons] for label in labels}
        marks = "".join(
            cell.note for row in cells.values() for cell in row if isinstance(cell, Ratio)
        )
        if any(_may_be_chance(cell) for row in cells.values() for cell in row):
            marks += CHANCE_MARK
        tables.append(_matrix(BY_NAME[name], comparisons[0].baseline.label, headings, cells, marks))
    return tuple(tables)


def _may_be_chance(cell: Cell) -> bool:
    """Whether it looks more certain than it is."""
    if not isinstance(cell, Ratio):
        return False
    ratio = cell.estimate
    return ratio.verdict is Verdict.INCONCLUSIVE and ratio.excludes_one


def _of_trends(
    trends: Sequence[Trend], metric: Metric, called: Mapping[Series, Heading], newest: int
) -> Table:
    """Revisions by scenarios, relative to the anchor: the newest first."""
    entries = {place.entry.name: place.entry for one in trends for place in one.places}
    ratios = [{place.entry.name: place.ratio for place in one.places} for one in trends]
    names = sorted(entries, key=lambda name: entries[name].order, reverse=True)
    rows = {name: [ratio_cell(of.get(name)) for of in ratios] for name in names[: newest or None]}
    return _matrix(metric, trends[0].anchor, [called[one.series] for one in trends], rows)


def _cell(comparison: Comparison, label: str, cost: str) -> Cell:
    row = next((one for one in comparison.rows if one.label == label), None)
    if row is None:
        return NOTHING
    disturbed = DISTURBED_MARK if comparison.is_disturbed else ""
    if cost == "steady" and row.judged_by != "steady":
        return ratio_cell(row.judged, TOTAL_MARK + disturbed)
    return ratio_cell(row.ratios.get(cost), disturbed)


def _matrix(
    metric: Metric,
    anchor: str,
    headings: Sequence[Heading],
    rows: Mapping[str, Sequence[Cell]],
    marks: str = "",
) -> Table:
    return Table(
        title=f"{metric.heading}, relative to {anchor}",
        header=(Heading("revision"), *headings),
        rows=tuple(
            (Word(text=label, sort=number), *cells)
            for number, (label, cells) in enumerate(rows.items())
        ),
        notes=tuple(note for mark, note in _NOTES.items() if mark in marks),
    )


def _section(
    series: Series,
    title: str,
    identity: str,
    kept: Sequence[ReadFolder],
    trends: Trends | None,
    newest: int,
    units: Units,
) -> Section:
    along = [
        along_history(one, BY_NAME[name], newest)
        for name, found in (trends or {}).items()
        for one in found
        if one.series == series
    ]
    sittings = [
        sitting(scene, units, brief=trends is not None)
        for one in kept
        for scene in one.scenes
        if series_of(scene.record) == series
    ]
    brief = _brief(series, kept) if trends is None else ""
    return Section(id=identity, title=title, parts=(*along, *sittings), brief=brief)


def _brief(series: Series, kept: Sequence[ReadFolder]) -> str:
    """What each candidate comes to in a scenario."""
    shown = next(
        scene.comparison
        for one in kept
        for scene in one.scenes
        if series_of(scene.record) == series
    )
    said = [f"{row.label} {cards.short(shown, row)}" for row in shown.rows[1:]]
    return ", ".join(said) if len(said) <= _NAMED else ""


def _curves(kept: Sequence[ReadFolder]) -> list[Section]:
    """What was scanned; each value has a section of its own, too."""
    found = [one for each in kept for one in scans(scene.record for scene in each.scenes)]
    return [
        Section(
            # No scenario has a point in its id.
            id=f"scan.{place}",
            title=f"{each.scenario} by {each.parameter}",
            parts=(scan.part(each),),
        )
        for place, each in enumerate(found, 1)
    ]


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
