"""Comparisons, trends and verdicts -> the rows of a forest plot: a dot and its interval each.

A page draws a row's plot into its table, and ``charts`` all rows into one picture. The axis of
ratios is logarithmic with 1 in its middle. A hollow dot is inconclusive; the band is what the row's
own margin allows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.history import Place, Trend
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import MARGIN, Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.reporting.document import Dot
from waitbench.reporting.drawing import Axis, colours_of
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_limit,
    format_of_allowed,
    format_pair,
    format_range,
)
from waitbench.reporting.summary import (
    ACCEPTED,
    BROKEN,
    HARMLESS,
    MARKS,
    NOT_COMPARED,
    judged_by,
    lacking,
    mark_of,
    uncompared,
)

FIRST = (
    "steady", "cpu", "system", "user", "real", "startup", "wakeups", "syscalls", "latency", "rss",
    "memory",
)  # fmt: skip
"""The metrics that are looked at before all others, in this order."""
TOO_FEW = "too few rounds"
_GATE_REACH = 2.0
"""Of the axis of a gate: margins are narrow, and a failure is an arrow at the edge."""
_FAR_OUT = 0.1
"""The share of a history's places that may lie beyond its axis."""
_BAND = (1 / (1 + MARGIN), 1 + MARGIN)


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """One figure of a candidate, relative to the baseline."""

    place: str
    """The scenario, or how many of them."""
    cost: str
    label: str
    """The candidate."""
    colour: str = ""
    mark: str
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


def of_comparisons(comparisons: Sequence[Comparison]) -> list[ForestRow]:
    """What is judged of each candidate in each scenario, and how late items are that wait.

    Of a revision that is compared with none, what it costs.
    """
    return [row for of in comparisons for row in _of_comparison(of)]


def _of_comparison(of: Comparison) -> Iterator[ForestRow]:
    for row in of.rows[1:]:
        judged = BY_NAME[judged_by(of, row)]
        if row.judged is None:
            said = lacking(of, row)
            yield _row(of, row, judged, mark_of(said), said)
            continue
        yield _row(of, row, judged)
        if of.record.waits and "latency" in row.ratios:
            yield _row(of, row, BY_NAME["latency"])
    for name in ("steady", "cpu", "latency") if not of.rows[1:] else ():
        if name in of.baseline.estimates:
            yield _row(of, of.baseline, BY_NAME[name], "")


def of_scenario(comparison: Comparison) -> list[ForestRow]:
    """Everything that was measured, but for what else the machine did."""
    metrics = comparison.record.metrics
    first = [metric for name in FIRST for metric in metrics if metric.name == name]
    return [
        _row(comparison, row, metric)
        for metric in dict.fromkeys((*first, *metrics))
        for row in comparison.rows[1:] or comparison.rows
        if not metric.key.startswith("machine_")
        and metric.name in comparison.baseline.estimates.keys() | row.estimates.keys()
    ]


def _row(
    of: Comparison, row: Row, metric: Metric, mark: str = HARMLESS, change: str = NOTHING
) -> ForestRow:
    before, after = values_of(of, row, metric)
    ratio, interval = row.ratios.get(metric.name), ""
    colour = colours_of([one.label for one in of.rows])[row.label]
    if ratio is not None:
        why_not = uncompared(of, row, metric)
        if why_not:
            ratio, change, interval = None, why_not, NOT_COMPARED
        else:
            mark, change = MARKS[ratio.verdict], format_change(ratio)
            interval = format_range(ratio) or TOO_FEW
    return ForestRow(
        place=of.scenario,
        cost=metric.title,
        label=row.label,
        colour=colour,
        mark=mark,
        before=before,
        after=after,
        change=change,
        interval=interval,
        dot=None if ratio is None else _dot(ratio, colour),
    )


def values_of(of: Comparison, row: Row, metric: Metric) -> tuple[str, str]:
    """What the baseline and a candidate cost."""
    found = (one.estimates.get(metric.name) for one in (of.baseline, row))
    before, after = (None if one is None else one.value for one in found)
    return format_pair(before, after, metric)


def _dot(ratio: Estimate, colour: str = "") -> Dot:
    return Dot(ratio, _BAND, colour, ratio.verdict is Verdict.INCONCLUSIVE)


def of_verdict(found: GateVerdict, colours: Mapping[str, str]) -> list[ForestRow]:
    """What a gate asked: what failed first, then what is open, what fell, and what holds."""
    rows = [of_judgement(one, colours.get(one.label, "")) for one in found.judgements]
    return sorted(rows, key=lambda row: "✗!–?▼✓".index(row.mark))


def headroom(row: ForestRow) -> float:
    """How far below its limit the upper bound lies, as a factor."""
    if row.dot is None or row.dot.ratio.high is None:
        return 1e9
    return row.dot.band[1] / row.dot.ratio.high


def of_judgement(found: Judgement, colour: str = "") -> ForestRow:
    """One answer of a gate."""
    criterion, ratio = found.criterion, estimate_of(found)
    cost = criterion.metric.title
    floor = f" + {format_limit(criterion.floor, criterion.metric)}" if criterion.floor else ""
    # With a floor the ratio is that to what is allowed.
    most = 1.0 if criterion.floor else 1 + criterion.margin
    return ForestRow(
        place=found.place,
        cost=f"dear runs of {cost}" if found.by_dear_runs else cost,
        label=found.label,
        colour=colour,
        mark=_mark(found),
        change=_change(found),
        interval=certainly(found),
        allowed=f"+{criterion.margin * 100:g} %{floor}",
        dot=None if ratio is None else Dot(ratio, (1.0, most), colour, found.is_open),
    )


def estimate_of(found: Judgement) -> Estimate | None:
    """The ratio of an answer, with its bounds."""
    if found.ratio is None:
        return None
    return Estimate(found.ratio, found.low, found.high, found.rounds)


def _mark(found: Judgement) -> str:
    if found.accepted is not None or found.verdict is Verdict.EXCUSED:
        return "!"
    if found.fails:
        return BROKEN
    if found.is_open or found.verdict is Verdict.FASTER:
        return MARKS[found.verdict]
    return HARMLESS if found.is_unmeasured else "✓"


def _change(found: Judgement) -> str:
    if found.ratio is None:
        return found.verdict.value
    text = change_of(found, found.ratio)
    if found.accepted is not None:
        return f"{text}, {ACCEPTED}"
    return f"{text}, excused" if found.verdict is Verdict.EXCUSED else text


def change_of(found: Judgement, ratio: float) -> str:
    """How much an answer says that a cost rose or fell; with a floor, what share of the limit."""
    if found.criterion.floor:
        return f"{format_of_allowed(ratio)} of allowed"
    return format_change(ratio)


def certainly(found: Judgement) -> str:
    """The bounds of an answer."""
    ratio = estimate_of(found)
    if ratio is None or not found.criterion.floor:
        return "" if ratio is None else format_range(ratio)
    low, high = (end and format_of_allowed(end) for end in (ratio.low, ratio.high))
    if low and high:
        return low if low == high else f"{low}–{high}"
    return f"≤ {high}" if high else f"≥ {low}" if low else ""


def axis_of(rows: Iterable[ForestRow]) -> Axis:
    """The axis of comparisons."""
    return Axis.over(row.dot.ratio for row in rows if row.dot is not None)


def gate_axis(rows: Iterable[ForestRow]) -> Axis:
    """The axis of a gate, which holds every band."""
    return Axis(max([_GATE_REACH, *(row.dot.band[1] for row in rows if row.dot is not None)]))


def of_place(found: Place, anchor: str, title: str, metric: Metric) -> ForestRow:
    """One revision of a history, relative to the anchor."""
    name, ratio = found.entry.name, found.ratio
    is_anchor = name == anchor
    return ForestRow(
        place=title,
        cost=metric.title,
        label=name,
        mark=MARKS[ratio.verdict],
        change="the anchor" if is_anchor else format_change(ratio),
        interval="" if is_anchor else format_range(ratio),
        sessions=str(ratio.count),
        dot=_dot(ratio),
    )


def trend_axis(found: Trend) -> Axis:
    """The axis of a history: the few that are far out do not flatten the others."""
    return Axis.over([place.ratio for place in found.places], _FAR_OUT)
