"""Tables of results as forest plots.

Each result has a row of texts, with a dot and its interval; on the first screen, each scenario has
a row. Axes are logarithmic. The middle of an axis is a ratio of 1; in a gate, the limit of the row.
A dot has the colour of its mark, and is hollow if the result is inconclusive; a band shows the
margin.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter

from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import BELOW_RESOLUTION, OF_RUNS, UNABLE
from waitbench.model.metrics import Metric
from waitbench.model.verdicts import CERTAIN, Estimate, Verdict
from waitbench.reporting.document import Cell, Column, Dot, Heading, Table, TextCell, text_of
from waitbench.reporting.drawing import (
    FAILURE,
    HOLDS,
    MARK_STYLES,
    MARKS,
    NOT_COMPARED,
    WARNING,
    Axis,
    shorten,
)
from waitbench.reporting.formats import (
    NOT_KNOWN,
    NOTHING,
    format_change,
    format_columns,
    format_limit,
    format_range,
    format_share,
    format_shares,
    format_value_of_share,
    format_values,
)

TOO_FEW = "too few rounds"
_LONGEST_HEADING = 10
"""Longer labels are replaced by "baseline" and "candidate" in headings."""
_LONGEST_LABEL = 9
"""The length to which labels are shortened if each revision has a column."""
_FIGURES_WIDTH = 56
"""The part of 80 characters that names leave to figures."""
_HEADINGS = {
    "real": "real",
    "user": "user",
    "system": "system",
    "wakeups": "wake-ups",
    "memory": "memory",
    "window": "after ready",
    "cpu-window": "CPU after ready",
}
"""Headings that are shorter than the titles, by name of metric."""


def mark_of(result: MetricResult) -> str:
    """The mark of a result: see ``drawing.MARK_STYLES``; empty for a single revision's."""
    if result.accepted or result.verdict is Verdict.EXPLAINED:
        return WARNING
    if result.fails:
        return FAILURE
    if result.verdict is not None:
        if result.criterion and result.verdict is Verdict.WITHIN_MARGIN:
            return HOLDS
        return MARKS.get(result.verdict, NOT_COMPARED)
    if result.is_alone:
        return ""
    is_harmless = result.why_not in (*UNABLE.values(), BELOW_RESOLUTION) or not result.judged
    # Without a figure of the baseline, no pair is complete, or a note names the failure.
    return NOT_COMPARED if is_harmless or result.before is None else FAILURE


def heading_of(metric: Metric) -> str:
    """The metric's title, as short as the head of a column needs it."""
    return _HEADINGS.get(metric.name, metric.title)


def cost_of(result: MetricResult) -> str:
    return f"outliers of {result.metric.title}" if result.by_outliers else result.metric.title


def before_of(result: MetricResult) -> str:
    """The baseline's value, in the unit of both values."""
    return _format_sides(result)[0]


def after_of(result: MetricResult) -> str:
    """The value of the candidate or the only revision; without a value, the reason."""
    return result.why_not if result.is_alone and result.why_not else _format_sides(result)[1]


def _format_sides(result: MetricResult) -> list[str]:
    values = [side.value if side else None for side in (result.before, result.after)]
    return format_values(values, result.metric.unit)


def has_ratio(result: MetricResult) -> bool:
    """Whether both values lie above the resolution, so that their ratio is meaningful."""
    is_bound = result.ratio is not None and result.ratio.is_bound and not result.allowance
    return not is_bound and result.why_not != BELOW_RESOLUTION


def change_of(result: MetricResult) -> str:
    """The change as text: of outliers their number, without a ratio the reason."""
    if result.by_outliers and result.outliers is not None:
        return f"{result.outliers.candidate} of {result.outliers.pairs}"
    if result.is_alone:
        return ""
    if not has_ratio(result):
        return NOTHING
    if result.ratio is None:
        return result.why_not or (result.verdict.value if result.verdict else NOTHING)
    if result.limit is not None:
        return format_value_of_share(result.limit, result.ratio.value)
    ratio = result.ratio.value
    change = f"{format_share(ratio)} of allowed" if result.allowance else format_change(ratio)
    return f"at least {change}" if result.at_least else change


def interval_of(result: MetricResult) -> str:
    """The interval, or in a gate the certain bounds, as text."""
    if counted := _counted(result):
        return counted
    if result.ratio is not None and result.limit is not None:
        ends = (("≥", result.ratio.low), ("≤", result.ratio.high))
        bounds = [f"{sign} {format_value_of_share(result.limit, end)}" for sign, end in ends if end]
        return ", ".join(bounds) or NOTHING
    if not has_ratio(result):
        return NOTHING
    if result.ratio is not None:
        interval = format_shares(result.ratio) if result.allowance else format_range(result.ratio)
        return interval or (NOTHING if result.criterion else TOO_FEW)
    if result.verdict is Verdict.INCONCLUSIVE:
        # Before the first interim analysis of a question.
        return TOO_FEW
    return "" if result.is_alone else NOTHING


def _counted(result: MetricResult) -> str:
    """The number of outliers, or of runs that missed a time limit, in place of an interval."""
    if missed := result.missed:
        # A pair in which both missed it counts on both sides.
        candidate, baseline = (it + missed.both for it in (missed.candidate, missed.baseline))
        baseline_text = "" if result.limit else f", baseline {baseline}"
        return f"{candidate} of {missed.pairs}{baseline_text}"
    return f"baseline {result.outliers.baseline}" if result.by_outliers and result.outliers else ""


def allowed_of(result: MetricResult) -> str:
    if not result.criterion:
        return ""
    if result.limit is not None:
        return f"at most {format_value_of_share(result.limit, 1.0)}"
    allowance = f" + {format_limit(result.allowance, result.metric)}" if result.allowance else ""
    return f"+{result.margin * 100:g} %{allowance}"


def _change(result: MetricResult) -> TextCell:
    style, ratio = MARK_STYLES.get(mark_of(result), ""), result.ratio
    return TextCell(text=change_of(result), style=style, sort=ratio.value if ratio else None)


Columns = Sequence[tuple[str | Heading, Callable[[MetricResult], Cell]]]
"""Headings, each with the function that makes the cell of a result."""
Names = Sequence[tuple[str, Callable[[MetricResult], Cell]]]
"""The same for the first columns, which name a row."""
COLUMNS: Columns = (("change", _change), ("95 %", interval_of))
GATE_COLUMNS: Columns = (("change", _change), ("certainly", interval_of), ("allowed", allowed_of))
LIMIT_COLUMNS: Columns = (("estimate", _change), *GATE_COLUMNS[1:])


def value_columns(labels: Sequence[str], *, are_optional: bool = False) -> Columns:
    """The columns of the values of the baseline and a candidate, or of the only revision."""
    baseline, *candidates = labels or ("",)
    if not candidates:
        return ((Heading(baseline, is_left=False, is_optional=are_optional), after_of),)
    (candidate,) = candidates if len(candidates) == 1 else ("candidate",)
    texts = (
        baseline if len(baseline) <= _LONGEST_HEADING else "baseline",
        candidate if len(candidate) <= _LONGEST_HEADING else "candidate",
    )
    before, after = (Heading(text, is_left=False, is_optional=are_optional) for text in texts)
    return ((before, before_of), (after, after_of))


def dot_of(result: MetricResult) -> Dot | None:
    """A dot for a ratio; in a gate, for the ratio to the row's limit."""
    ratio, most = result.ratio, result.most
    if ratio is None or not has_ratio(result):
        return None
    band = (1 / most, most)
    if result.criterion:
        # With an allowance or a limit, every lower cost is allowed.
        band = (0.0 if result.allowance or result.limit else 1 / most, 1.0)
        low, high = (end and end / most for end in (ratio.low, ratio.high))
        ratio = Estimate(ratio.value / most, low, high, ratio.count)
    is_open, style = result.verdict is Verdict.INCONCLUSIVE, MARK_STYLES.get(mark_of(result), "")
    return Dot(ratio, band, is_open=is_open, style=style)


def axis_of(results: Sequence[MetricResult]) -> Axis:
    """The axis that holds all dots. Its middle is no change or, in a gate, the limit."""
    middle = "limit" if any(result.criterion for result in results) else "1"
    return Axis.over([dot.ratio for dot in map(dot_of, results) if dot], middle=middle)


def tabulate(
    title: str,
    results: Sequence[MetricResult],
    columns: Columns,
    *,
    axis: Axis | None = None,
    colours: Mapping[str, str] = {},
    names: Names = (),
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """A row for each result: a mark and names, columns of figures, and dots if there is an axis.

    By default, names that all rows share have no column.
    """
    all_names: Names = (
        ("scenario", attrgetter("scenario")),
        ("cost", cost_of),
        ("revision", lambda it: TextCell(text=it.revision, colour=colours.get(it.revision, ""))),
    )
    # The cost always has a column.
    names_shown = names or [
        it for it in all_names if it[1] is cost_of or len(set(map(it[1], results))) > 1
    ]
    first = names_shown[0][1]

    def marked(result: MetricResult) -> Cell:
        return TextCell(text=text_of(first(result)), mark=mark_of(result))

    cells: list[tuple[str | Heading, Callable[[MetricResult], Cell]]] = [
        *((Heading(text), marked if name is first else name) for text, name in names_shown),
        *columns,
    ]
    if axis is not None:
        cells.append((Heading("ratio", axis=axis), lambda it: dot_of(it) or ""))
    table = [(heading, [*map(cell_of, results)]) for heading, cell_of in cells]
    return Table(title, table, notes, groups)


def first_screen(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """Real, user, system and total CPU time of each scenario, then the cost of waiting.

    Each cost has a column for both revisions. With more than two revisions, each of the first four
    has a table, with a column for each revision.
    """
    shown = [it for it in results if it.headline]
    if len(labels) > 2:
        yield from _by_revision(labels, shown)
        return
    of_runs = [it for it in shown if it.metric.name in OF_RUNS]
    others = [it for it in shown if it.metric.name not in OF_RUNS and not it.is_point]
    headings = dict(zip(labels, ("old", "new") if labels[1:] else ("",), strict=False))
    if of_runs:
        yield _matrix(headings, of_runs, OF_RUNS, "cpu")
    if others:
        yield _matrix(headings, others, [*dict.fromkeys(it.metric.name for it in others)])


def _by_revision(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """For each metric, as many tables as its candidates need, each with the baseline first."""
    names = [shorten(label, _LONGEST_LABEL) for label in labels]
    ends = [it if len(it) <= _LONGEST_LABEL else f"…{it[1 - _LONGEST_LABEL :]}" for it in labels]
    # Labels that shorten alike may differ just before their ends, or after a common beginning.
    alike = takewhile(lambda it: len({*it}) == 1, zip(*labels[1:], strict=False))
    start = len([*alike])
    parts = [names[0], *(f"…{it[start : start + _LONGEST_LABEL - 1]}" for it in labels[1:])]
    names = max(names, ends, parts, key=lambda it: len({*it}))
    headings = [*zip(labels, names, strict=True)]
    number = max(1, _FIGURES_WIDTH // (max(len(name) for _, name in headings) + 2) - 1)
    for metric in OF_RUNS:
        of_metric = [it for it in results if it.metric.name == metric]
        for start in range(1, len(labels), number):
            labels_shown = dict([headings[0], *headings[start : start + number]])
            yield _matrix(labels_shown, of_metric, [metric])


def _matrix(
    headings: Mapping[str, str],
    results: Sequence[MetricResult],
    metrics: Sequence[str],
    judged: str = "",
) -> Table:
    """A row for each scenario: the metrics of some revisions, and the interval of ``judged``."""
    scenarios = [*dict.fromkeys(it.scenario for it in results)]
    by_place = {(it.scenario, it.metric.name, it.revision): it for it in results}
    # As in the bars: the baseline's mean over the most rounds; of ties, the first.
    by_rounds = sorted(results, key=lambda it: -it.before.count if it.before else 0)
    baselines = {(it.scenario, it.metric.name): it.before for it in reversed(by_rounds)}
    by_name = {it.metric.name: it.metric for it in results}
    first, columns = "scenario", list[Column]()
    for metric in (by_name[name] for name in metrics if name in by_name):
        cells = [[by_place.get((it, metric.name, label)) for it in scenarios] for label in headings]
        means = [[it.after if it else None for it in column] for column in cells]
        if len(headings) > 1:
            means[0] = [baselines.get((it, metric.name)) for it in scenarios]
        values = [[mean.value if mean else None for mean in column] for column in means]
        # Costs that add up to the judged one share its unit: that of a second.
        unit, texts = format_columns(values, metric.unit, [[1.0]] if judged else values)
        in_unit = f", {unit}" if unit and not judged else ""
        group = f"{heading_of(metric)}{in_unit}"
        if not metrics[1:]:
            first, group = f"{metric.title}{in_unit}", ""
        for text, column, of_label in zip(headings.values(), texts, cells, strict=True):
            heading = Heading(text or group, is_left=False, group=group if text else "")
            columns.append((heading, _figures(column, of_label, has_marks=not judged)))
    if judged and len(headings) > 1:
        candidate = [*headings][-1]
        intervals = [_interval(by_place.get((it, judged, candidate))) for it in scenarios]
        columns.append((Heading("95 %"), intervals))
    return Table("", [(Heading(first), _names(scenarios)), *columns])


def _figures(
    texts: Sequence[str], results: Sequence[MetricResult | None], *, has_marks: bool
) -> list[TextCell]:
    """Cells in the colour, and if ``has_marks`` with the mark, of a certain change."""
    cells = []
    for text, result in zip(texts, results, strict=True):
        mark = mark_of(result) if result and result.verdict in CERTAIN else ""
        figure = f"{text}{mark or ' '}" if has_marks else text
        cells.append(TextCell(text=figure, style=MARK_STYLES.get(mark, "")))
    return cells


def _interval(result: MetricResult | None) -> TextCell:
    """The mark and the interval of a change, or why there is none."""
    if result is None:
        return TextCell(text=NOTHING)
    mark = mark_of(result)
    if result.ratio is None:
        text = result.why_not if result.why_not in UNABLE.values() else ""
    else:
        text = "" if result.ratio.is_bound else format_range(result.ratio, whole=True)
        if text.startswith(("≤", "≥")):
            # "≥ 14× less" becomes "≥ 14×": the mark shows the direction.
            text = " ".join(text.split()[:2]) if result.verdict in CERTAIN else NOT_KNOWN
    return TextCell(text=f"{mark} {text}".rstrip(), style=MARK_STYLES.get(mark, ""))


def _names(scenarios: Sequence[str]) -> list[TextCell]:
    """Cells of scenarios. A console shortens a name like a name above, as to " -long-input"."""
    cells, stem = [], ""
    for name in scenarios:
        is_continued = bool(stem) and name.startswith(f"{stem}-")
        stem = stem if is_continued else name
        rest = f" {name.removeprefix(stem)}" if is_continued else ""
        cells.append(TextCell(text=name, short=rest))
    return cells
