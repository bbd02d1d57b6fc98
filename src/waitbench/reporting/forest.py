"""Results -> rows: what a table, a chart and a page write of each, and the dot that they draw.

The axis of ratios is logarithmic with 1 in its middle. A hollow dot is inconclusive; the band is
what the row's own margin allows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.history import Place, Trend
from waitbench.analysis.results import BELOW_FLOOR, NEAR_FLOOR, NOT_SUPPORTED, MetricResult
from waitbench.analysis.statistics import MARGIN
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import Metric
from waitbench.reporting.document import Dot, Heading, Table, Word
from waitbench.reporting.drawing import Axis
from waitbench.reporting.formats import (
    NOTHING,
    format_bounds,
    format_change,
    format_limit,
    format_pair,
    format_range,
    format_rise,
)
from waitbench.reporting.summary import BROKEN, HARMLESS, HOLDS, MARK_STYLES, MARKS, WARNING

_NEAR = (BELOW_FLOOR, NEAR_FLOOR)
_GATE_REACH = 2.0
"""Of the axis of a gate: margins are narrow, and a failure is an arrow at the edge."""
_FAR_OUT = 0.1
"""The share of a history's places that may lie beyond its axis."""


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """One result as it is written and drawn."""

    place: str
    """The scenario, or how many of them."""
    cost: str = ""
    label: str = ""
    """The candidate."""
    colour: str = ""
    mark: str = ""
    """Says without colours what is known of it."""
    before: str = NOTHING
    """The baseline's value."""
    after: str = NOTHING
    change: str
    interval: str = ""
    allowed: str = ""
    sessions: str = ""
    """Of a history: how many it rests on."""
    dot: Dot | None = None


def rows_of(results: Iterable[MetricResult], colours: Mapping[str, str]) -> list[ForestRow]:
    """The rows of results, in their order."""
    return [row_of(one, colours.get(one.revision, "")) for one in results]


def row_of(found: MetricResult, colour: str = "") -> ForestRow:
    """One result as it is written and drawn."""
    ratio = found.estimate
    before, after = format_pair(found.before, found.after, found.metric)
    return ForestRow(
        place=found.scenario,
        cost=f"dear runs of {found.metric.title}" if found.by_dear_runs else found.metric.title,
        label=found.revision,
        colour=colour,
        mark=mark_of(found),
        before=before,
        after=after,
        change=_change(found),
        interval=_interval(found),
        allowed=_allowed(found),
        dot=None if ratio is None else Dot(ratio, _band(found), colour, found.is_open),
    )


def mark_of(found: MetricResult) -> str:
    """What is known of a result, in one character."""
    if found.accepted or found.verdict is Verdict.EXCUSED:
        return WARNING
    if found.criterion and found.verdict is not None:
        if found.fails:
            return BROKEN
        holds = {Verdict.WITHIN_MARGIN: HOLDS, Verdict.NOT_MEASURED: HARMLESS}
        return holds.get(found.verdict) or MARKS[found.verdict]
    if found.verdict is not None:
        return MARKS[found.verdict]
    if found.is_alone:
        return ""
    is_harmless = found.why_not in (NOT_SUPPORTED, *_NEAR) or not found.judged
    # Where neither side has a figure a gate ended before its turn, or a note says what failed.
    return HARMLESS if is_harmless or found.before is None else BROKEN


def _change(found: MetricResult) -> str:
    if found.why_not in _NEAR:
        at = "below" if found.why_not == BELOW_FLOOR else "near"
        return f"{at} {format_limit(found.metric.floor, found.metric)}"
    ratio = found.estimate
    if ratio is None:
        return found.verdict.value if found.verdict else found.why_not or NOTHING
    return format_rise(ratio, found.floor)


def _interval(found: MetricResult) -> str:
    if found.why_not in _NEAR:
        return "not compared"
    if found.estimate is None:
        return ""
    too_few = "" if found.criterion else "too few rounds"
    return format_bounds(found.estimate, found.floor) or too_few


def _allowed(found: MetricResult) -> str:
    if not found.criterion:
        return ""
    floor = f" + {format_limit(found.floor, found.metric)}" if found.floor else ""
    return f"+{found.margin * 100:g} %{floor}"


def _band(found: MetricResult) -> tuple[float, float]:
    """What is allowed; with a floor the ratio is that to it."""
    if not found.criterion:
        return 1 / (1 + found.margin), 1 + found.margin
    return (0.0, 1.0) if found.floor else (1.0, 1 + found.margin)


def axis_of(rows: Iterable[ForestRow]) -> Axis:
    """The axis of comparisons."""
    return Axis.over(row.dot.ratio for row in rows if row.dot is not None)


def gate_axis(rows: Iterable[ForestRow]) -> Axis:
    """The axis of a gate, which holds every band."""
    bands = (row.dot.band for row in rows if row.dot is not None)
    return Axis.of_ratios(max([_GATE_REACH, *(band[1] for band in bands if band)]))


_NAMES = {"place": "scenario", "cost": "cost", "label": "revision"}
_SIDES = ("before", "after")


def tabulate(
    title: str,
    rows: Sequence[ForestRow],
    columns: Mapping[str, str],
    axis: Axis | None = None,
    names: Mapping[str, str] | None = None,
    groups: Sequence[str] = (),
) -> Table:
    """Rows that begin with a mark and names, the fields that ``columns`` head, and dots.

    Names that all rows share are no column, unless ``names`` says which are. Figures of the two
    sides give way then on a console where names would not fit beside them.
    """
    gives_way = names is not None
    names = names or {
        name: heading
        for name, heading in _NAMES.items()
        if name == "cost" or len({getattr(row, name) for row in rows}) > 1
    }
    first = next(iter(names))
    return Table(
        title=title,
        header=(
            *map(Heading, names.values()),
            *(
                Heading(text, is_left=False, gives_way=gives_way and name in _SIDES)
                for name, text in columns.items()
            ),
            *([Heading("ratio", axis=axis)] if axis else []),
        ),
        rows=tuple(
            (
                *(_name(row, name, row.mark if name == first else "") for name in names),
                *(_figure(row, name) for name in columns),
                *([row.dot or ""] if axis else []),
            )
            for row in rows
        ),
        groups=tuple(groups),
        group_heading="scenario",
    )


def _name(row: ForestRow, name: str, mark: str) -> Word:
    text = f"{mark} {getattr(row, name)}" if mark else getattr(row, name)
    return Word(text=text, colour=row.colour if name == "label" else "")


def _figure(row: ForestRow, name: str) -> Word:
    is_change = name == "change"
    return Word(
        text=getattr(row, name) or NOTHING,
        style=MARK_STYLES.get(row.mark, "") if is_change else "",
        sort=row.dot.ratio.value if is_change and row.dot is not None else None,
    )


def of_place(found: Place, anchor: str, title: str, metric: Metric) -> ForestRow:
    """One revision of a history, relative to the anchor."""
    name, ratio = found.entry.name, found.ratio
    is_anchor = name == anchor
    is_open = ratio.verdict is Verdict.INCONCLUSIVE
    return ForestRow(
        place=title,
        cost=metric.title,
        label=name,
        mark=MARKS[ratio.verdict],
        change="the anchor" if is_anchor else format_change(ratio),
        interval="" if is_anchor else format_range(ratio),
        sessions=str(ratio.count),
        dot=Dot(ratio, (1 / (1 + MARGIN), 1 + MARGIN), is_open=is_open),
    )


def trend_axis(found: Trend) -> Axis:
    """The axis of a history: the few that are far out do not flatten the others."""
    return Axis.over([place.ratio for place in found.places], _FAR_OUT)
