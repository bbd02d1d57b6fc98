"""Results -> tables: what is written of each in every view, and the dot that draws it.

An axis of ratios is logarithmic with 1 in its middle; that of a gate has each row's limit there. A
dot is green, red or grey as its mark is, and hollow where it is inconclusive; the band is what the
row's own margin allows.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from waitbench.analysis.statistics import BELOW_RESOLUTION, UNABLE, MetricResult
from waitbench.model.estimate import Estimate
from waitbench.model.verdicts import Verdict
from waitbench.reporting.document import Column, Dot, Heading, Table, Word
from waitbench.reporting.drawing import Axis
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
from waitbench.reporting.summary import BROKEN, HARMLESS, HOLDS, MARK_STYLES, MARKS, WARNING

place_of: Callable[[MetricResult], str] = attrgetter("scenario")
label_of: Callable[[MetricResult], str] = attrgetter("revision")
TOO_FEW = "too few rounds"
_SHORT = 10
"""Labels up to this head a column of figures."""


def mark_of(found: MetricResult) -> str:
    """What is known of a result, in one character."""
    if found.accepted or found.verdict is Verdict.EXPLAINED:
        return WARNING
    if found.fails:
        return BROKEN
    if found.verdict is not None:
        holds = {Verdict.WITHIN_MARGIN: HOLDS} if found.criterion else {}
        return holds.get(found.verdict) or MARKS.get(found.verdict, HARMLESS)
    if found.is_alone:
        return ""
    is_harmless = found.why_not in (*UNABLE.values(), BELOW_RESOLUTION) or not found.judged
    # Where neither side has a figure a gate ended before its turn, or a note says what failed.
    return HARMLESS if is_harmless or found.before is None else BROKEN


def cost_of(found: MetricResult) -> str:
    """What is measured."""
    return f"dear runs of {found.metric.title}" if found.by_dear_runs else found.metric.title


def before_of(found: MetricResult) -> str:
    """The baseline's value, in the unit of both."""
    return _sides(found)[0]


def after_of(found: MetricResult) -> str:
    """The candidate's value, in the unit of both; of a revision alone, or why it has none."""
    return found.why_not if found.is_alone and found.why_not else _sides(found)[1]


def _sides(found: MetricResult) -> list[str]:
    values = [None if one is None else one.value for one in (found.before, found.after)]
    return format_values(values, found.metric.unit)


def has_ratio(found: MetricResult) -> bool:
    """Whether both sides lie above the resolution, so that a ratio of them says anything."""
    is_bound = found.ratio is not None and found.ratio.is_bound and not found.floor
    return not is_bound and found.why_not != BELOW_RESOLUTION


def change_of(found: MetricResult) -> str:
    """The ratio as a change, or why there is none."""
    if found.by_dear_runs and found.dear is not None:
        return f"{found.dear.candidate} of {found.dear.pairs}"
    if found.is_alone:
        return ""
    if not has_ratio(found):
        # The two figures stand alone.
        return NOTHING
    if found.ratio is None:
        return found.why_not or (found.verdict.value if found.verdict else NOTHING)
    if found.limit is not None:
        return format_of_limit(found.limit, found.ratio.value)
    change = (
        f"{format_share(found.ratio)} of allowed" if found.floor else format_change(found.ratio)
    )
    return f"{'at least ' * found.at_least}{change}"


def interval_of(found: MetricResult) -> str:
    """What is certain of the change."""
    if counted := _counted(found):
        return counted
    if found.ratio is not None and found.limit is not None:
        ends = (("≥", found.ratio.low), ("≤", found.ratio.high))
        known = [f"{sign} {format_of_limit(found.limit, end)}" for sign, end in ends if end]
        return ", ".join(known) or NOTHING
    if not has_ratio(found):
        return NOTHING
    if found.ratio is not None:
        certain = format_shares(found.ratio) if found.floor else format_range(found.ratio)
        return certain or (NOTHING if found.criterion else TOO_FEW)
    if found.verdict is Verdict.INCONCLUSIVE:
        # Nothing is known of a question before its first look.
        return TOO_FEW
    return "" if found.is_alone else NOTHING


def _counted(found: MetricResult) -> str:
    """What is known instead of bounds: how many runs were dear, or missed a time limit."""
    if found.missed is not None:
        ours, theirs = (
            alone + found.missed.both for alone in (found.missed.candidate, found.missed.baseline)
        )
        baseline = "" if found.limit else f", baseline {theirs}"
        return f"{ours} of {found.missed.pairs}{baseline}"
    is_of_dear = found.by_dear_runs and found.dear is not None
    return f"baseline {found.dear.baseline}" if is_of_dear and found.dear else ""


def allowed_of(found: MetricResult) -> str:
    """The limit of a question."""
    if not found.criterion:
        return ""
    if found.limit is not None:
        return f"at most {format_of_limit(found.limit, 1.0)}"
    floor = f" + {format_limit(found.floor, found.metric)}" if found.floor else ""
    return f"+{found.margin * 100:g} %{floor}"


Figure = Callable[[MetricResult], str]
Columns = Sequence[tuple[str, Figure]]
"""Headings, and what stands below each."""
COLUMNS: Columns = (("change", change_of), ("95 %", interval_of))
GATE_COLUMNS: Columns = (
    ("change", change_of),
    ("certainly", interval_of),
    ("allowed", allowed_of),
)
LIMIT_COLUMNS: Columns = (("estimate", change_of), *GATE_COLUMNS[1:])
_NAMES: Columns = (("scenario", place_of), ("cost", cost_of), ("revision", label_of))


def sides(labels: Sequence[str]) -> Columns:
    """The columns of both figures; of a revision alone, of its own."""
    baseline, *others = labels or ("",)
    if not others:
        return ((baseline, after_of),)
    candidate = others[0] if len(others) == 1 and len(others[0]) <= _SHORT else "candidate"
    return (
        (baseline if len(baseline) <= _SHORT else "baseline", before_of),
        (candidate, after_of),
    )


def dot_of(found: MetricResult) -> Dot | None:
    """A ratio, or how far it is from the limit of a gate."""
    ratio, most = found.ratio, 1 + found.margin
    if ratio is None or not has_ratio(found):
        return None
    band = (1 / most, most)
    if found.criterion and found.floor:
        # The ratio is that to what is allowed already.
        band = (0.0, 1.0)
    elif found.criterion:
        band = (1 / most, 1.0)
        low, high = (end and end / most for end in (ratio.low, ratio.high))
        ratio = Estimate(ratio.value / most, low, high, ratio.count)
    is_open, style = found.verdict is Verdict.INCONCLUSIVE, MARK_STYLES.get(mark_of(found), "")
    return Dot(ratio, band, is_open=is_open, style=style)


def axis_of(results: Sequence[MetricResult]) -> Axis:
    """The axis that holds all of them, with what each is compared with in its middle."""
    middle = "limit" if any(one.criterion for one in results) else "1"
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
) -> Table:
    """A row for each: a mark and names, columns of figures, and dots where there is an axis.

    Names that all rows share are no column, unless ``names`` says which are. Figures of the two
    sides give way then on a console where names would not fit beside them.
    """
    sides = (before_of, after_of) if names else ()
    shown = names or [
        (heading, name)
        for heading, name in _NAMES
        if name is cost_of or len(set(map(name, results))) > 1
    ]
    first = shown[0][1]
    made: list[Column] = [
        (Heading(heading), [_name(one, name, name is first, colours) for one in results])
        for heading, name in shown
    ]
    for text, of in columns:
        heading = Heading(text, is_left=False, gives_way=1 if of in sides else 0)
        made.append((heading, [_figure(one, of) for one in results]))
    if axis is not None:
        made.append((Heading("ratio", axis=axis), [dot_of(one) or "" for one in results]))
    return Table(title, made, groups=groups)


def _name(found: MetricResult, of: Figure, has_mark: bool, colours: Mapping[str, str]) -> Word:
    return Word(
        text=of(found),
        mark=mark_of(found) if has_mark else "",
        colour=colours.get(found.revision, "") if of is label_of else "",
    )


def _figure(found: MetricResult, of: Figure) -> Word:
    is_change = of is change_of
    return Word(
        text=of(found),
        style=MARK_STYLES.get(mark_of(found), "") if is_change else "",
        sort=found.ratio.value if is_change and found.ratio else None,
    )
