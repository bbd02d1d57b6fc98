"""Results -> tables: the texts of each result in every view, and the dot that draws it.

An axis of ratios is logarithmic with 1 in its middle; that of a gate has each row's limit there. A
dot is green, red or grey as its mark is, and hollow where it is inconclusive; the band is the
row's own margin.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import BELOW_RESOLUTION, UNABLE
from waitbench.model.estimate import Estimate
from waitbench.model.verdicts import Verdict
from waitbench.reporting.document import Column, Dot, Heading, Table, TextCell
from waitbench.reporting.drawing import BROKEN, HARMLESS, HOLDS, MARK_STYLES, MARKS, WARNING, Axis
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_limit,
    format_of_limit,
    format_range,
    format_share,
    format_shares,
    format_values,
)

TOO_FEW = "too few rounds"
_SHORT = 10
"""Labels up to this length head a column of figures."""


def mark_of(result: MetricResult) -> str:
    if result.accepted or result.verdict is Verdict.EXPLAINED:
        return WARNING
    if result.fails:
        return BROKEN
    if result.verdict is not None:
        holds = {Verdict.WITHIN_MARGIN: HOLDS} if result.criterion else {}
        return holds.get(result.verdict) or MARKS.get(result.verdict, HARMLESS)
    if result.is_alone:
        return ""
    is_harmless = result.why_not in (*UNABLE.values(), BELOW_RESOLUTION) or not result.judged
    # Where neither side has a figure a gate ended before its turn, or a note names the failure.
    return HARMLESS if is_harmless or result.before is None else BROKEN


label_of: Callable[[MetricResult], str] = attrgetter("revision")


def cost_of(result: MetricResult) -> str:
    return f"outliers of {result.metric.title}" if result.by_outliers else result.metric.title


def before_of(result: MetricResult) -> str:
    """The baseline's value, in the unit of both sides."""
    return _sides(result)[0]


def after_of(result: MetricResult) -> str:
    """The candidate's value, in the unit of both sides; of a revision alone, or why it has none."""
    return result.why_not if result.is_alone and result.why_not else _sides(result)[1]


def _sides(result: MetricResult) -> list[str]:
    values = [side.value if side else None for side in (result.before, result.after)]
    return format_values(values, result.metric.unit)


def has_ratio(result: MetricResult) -> bool:
    """Whether both sides lie above the resolution, so that their ratio means anything."""
    is_bound = result.ratio is not None and result.ratio.is_bound and not result.allowance
    return not is_bound and result.why_not != BELOW_RESOLUTION


def change_of(result: MetricResult) -> str:
    if result.by_outliers and result.outliers is not None:
        return f"{result.outliers.candidate} of {result.outliers.pairs}"
    if result.is_alone:
        return ""
    if not has_ratio(result):
        return NOTHING
    if result.ratio is None:
        return result.why_not or (result.verdict.value if result.verdict else NOTHING)
    if result.limit is not None:
        return format_of_limit(result.limit, result.ratio.value)
    ratio = result.ratio.value
    change = f"{format_share(ratio)} of allowed" if result.allowance else format_change(ratio)
    return f"{'at least ' * result.at_least}{change}"


def interval_of(result: MetricResult) -> str:
    if counted := _counted(result):
        return counted
    if result.ratio is not None and result.limit is not None:
        ends = (("≥", result.ratio.low), ("≤", result.ratio.high))
        known = [f"{sign} {format_of_limit(result.limit, end)}" for sign, end in ends if end]
        return ", ".join(known) or NOTHING
    if not has_ratio(result):
        return NOTHING
    if result.ratio is not None:
        certain = format_shares(result.ratio) if result.allowance else format_range(result.ratio)
        return certain or (NOTHING if result.criterion else TOO_FEW)
    if result.verdict is Verdict.INCONCLUSIVE:
        # Before the first interim analysis of a question.
        return TOO_FEW
    return "" if result.is_alone else NOTHING


def _counted(result: MetricResult) -> str:
    """Counts in place of bounds: of outliers, or of runs that missed a time limit."""
    if missed := result.missed:
        candidate, baseline = (it + missed.both for it in (missed.candidate, missed.baseline))
        beside = "" if result.limit else f", baseline {baseline}"
        return f"{candidate} of {missed.pairs}{beside}"
    return f"baseline {result.outliers.baseline}" if result.by_outliers and result.outliers else ""


def allowed_of(result: MetricResult) -> str:
    if not result.criterion:
        return ""
    if result.limit is not None:
        return f"at most {format_of_limit(result.limit, 1.0)}"
    allowance = f" + {format_limit(result.allowance, result.metric)}" if result.allowance else ""
    return f"+{result.margin * 100:g} %{allowance}"


Figure = Callable[[MetricResult], str]
Columns = Sequence[tuple[str, Figure]]
COLUMNS: Columns = (("change", change_of), ("95 %", interval_of))
GATE_COLUMNS: Columns = (("change", change_of), ("certainly", interval_of), ("allowed", allowed_of))
LIMIT_COLUMNS: Columns = (("estimate", change_of), *GATE_COLUMNS[1:])
_NAMES: Columns = (
    ("scenario", attrgetter("scenario")),
    ("cost", cost_of),
    ("revision", label_of),
)


def sides(labels: Sequence[str]) -> Columns:
    """The columns of both figures; of a revision alone, of its own."""
    baseline, *candidates = labels or ("",)
    if not candidates:
        return ((baseline, after_of),)
    (candidate,) = candidates if len(candidates) == 1 else ("candidate",)
    return (
        (baseline if len(baseline) <= _SHORT else "baseline", before_of),
        (candidate if len(candidate) <= _SHORT else "candidate", after_of),
    )


def columns_of(labels: Sequence[str]) -> Columns:
    return (*sides(labels), *(COLUMNS if labels[1:] else ()))


def dot_of(result: MetricResult) -> Dot | None:
    """A ratio, or how far it is from the limit of a gate."""
    ratio, most = result.ratio, result.most
    if ratio is None or not has_ratio(result):
        return None
    band = (1 / most, most)
    if result.criterion:
        band = (0.0 if result.allowance else 1 / most, 1.0)
        low, high = (end and end / most for end in (ratio.low, ratio.high))
        ratio = Estimate(ratio.value / most, low, high, ratio.count)
    is_open, style = result.verdict is Verdict.INCONCLUSIVE, MARK_STYLES.get(mark_of(result), "")
    return Dot(ratio, band, is_open=is_open, style=style)


def axis_of(results: Sequence[MetricResult]) -> Axis:
    """The axis that holds all dots; in its middle, no change or the limit."""
    middle = "limit" if any(result.criterion for result in results) else "1"
    return Axis.over([dot.ratio for dot in map(dot_of, results) if dot], middle=middle)


def tabulate(
    title: str,
    results: Sequence[MetricResult],
    columns: Columns,
    *,
    axis: Axis | None = None,
    colours: Mapping[str, str] = MappingProxyType({}),
    names: Columns = (),
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """A row for each result: a mark and names, columns of figures, and dots if there is an axis.

    By default, names that all rows share have no column. With ``names``, the figures of the two
    sides give way on a console where names would not fit beside them.
    """
    giving_way = (before_of, after_of) if names else ()
    shown = names or [
        (heading, name)
        for heading, name in _NAMES
        if name is cost_of or len(set(map(name, results))) > 1
    ]
    table: list[Column] = [
        (Heading(text), [_cell(it, name, colours, has_mark=number == 0) for it in results])
        for number, (text, name) in enumerate(shown)
    ]
    for text, figure in columns:
        heading = Heading(text, is_left=False, gives_way=figure in giving_way)
        table.append((heading, [_cell(it, figure, colours) for it in results]))
    if axis is not None:
        table.append((Heading("ratio", axis=axis), [dot_of(it) or "" for it in results]))
    return Table(title, table, notes, groups)


def _cell(
    result: MetricResult, figure: Figure, colours: Mapping[str, str], *, has_mark: bool = False
) -> TextCell:
    is_change, mark = figure is change_of, mark_of(result)
    return TextCell(
        text=figure(result),
        mark=mark if has_mark else "",
        style=MARK_STYLES.get(mark, "") if is_change else "",
        sort=result.ratio.value if is_change and result.ratio else None,
        colour=colours.get(result.revision, "") if figure is label_of else "",
    )
