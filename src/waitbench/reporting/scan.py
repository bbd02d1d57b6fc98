"""Scans -> tables, sentences, plain data and a chart: what an input costs, and how that grows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from waitbench.analysis.growth import Shape
from waitbench.analysis.scan import Curve, Fits, Scanned, fits
from waitbench.analysis.statistics import CONFIDENCE, Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.answer import MARKS
from waitbench.reporting.console import STYLES
from waitbench.reporting.document import (
    Cell,
    Chart,
    Heading,
    Headline,
    Part,
    Ratio,
    Table,
    Word,
)
from waitbench.reporting.drawing import COLOURS
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_interval,
    format_number,
    format_range,
    format_spread,
    rounded,
)

_HEIGHT = 320
_MICRO = 1e6


def title(scanned: Scanned) -> str:
    """Scenario, parameter, and how many rounds."""
    rounds = format_count(scanned.rounds, "round", "rounds")
    return f"{scanned.scenario} by {scanned.parameter} · {rounds}"


def tables(scanned: Sequence[Scanned], bound_s: float | None = None) -> list[Table]:
    """Of each scan the costs at each value, and the line through them."""
    return [one for each in scanned for one in (_costs(each), _lines(each, bound_s))]


def _costs(scanned: Scanned) -> Table:
    return Table(
        title=f"{title(scanned)} · CPU while waiting, % of a core, means",
        header=(
            Heading(scanned.parameter, is_left=False),
            *(Heading(curve.label, is_left=False) for curve in scanned.curves),
        ),
        rows=tuple(
            (
                Word(text=format_value(value), sort=value),
                *(_cost(curve, place) for curve in scanned.curves),
            )
            for place, value in enumerate(scanned.values)
        ),
    )


def _cost(curve: Curve, place: int) -> Cell:
    cost = curve.points[place].cost
    if cost is None:
        return NOTHING
    return Word(text=_percent(cost), sort=cost.value)


def _lines(scanned: Scanned, bound_s: float | None) -> Table:
    one = _one(scanned.parameter)
    has_ratios = any(curve.slope_ratio is not None for curve in scanned.curves)
    return Table(
        title=f"{title(scanned)} · what a worker costs, and what each {one} adds",
        header=(
            Heading("revision"),
            Heading("C, % of a core", short="C, % of\na core", is_left=False),
            Heading(f"R, µs of CPU a second and {one}", short="R, µs/s", is_left=False),
            *([Heading("R, ratio", is_left=False)] if has_ratios else []),
            Heading("how it grows"),
        ),
        rows=tuple(
            (
                curve.label,
                NOTHING if curve.constant is None else _percent(curve.constant),
                NOTHING if curve.slope is None else _micro(curve.slope),
                *([_ratio(curve)] if has_ratios else []),
                Word(text=_WORDS[curve.growth.shape] if curve.growth else "not known"),
            )
            for curve in scanned.curves
        ),
        notes=tuple(sentences(scanned, bound_s)),
        least=12,
    )


_WORDS: Mapping[Shape, str] = {
    Shape.LINE: "a line",
    Shape.SATURATING: "towards a core",
    Shape.WALL: "a line to a wall",
    Shape.CURVE_UP: "faster than a line",
    Shape.CURVE_DOWN: "slower than a line",
    Shape.STEP: "a step",
    Shape.UNKNOWN: "not a line",
}


def _ratio(curve: Curve) -> Cell:
    return NOTHING if curve.slope_ratio is None else Ratio(curve.slope_ratio)


def headlines(scanned: Sequence[Scanned]) -> tuple[Headline, ...]:
    """What further inputs cost each candidate, against the baseline; how it grows if no line fits.

    Of a baseline alone what they cost it.
    """
    return tuple(
        one for each in scanned for curve in each.curves for one in _headlines(curve, each)
    )


def _headlines(curve: Curve, scanned: Scanned) -> Iterator[Headline]:
    one, ratio = _one(scanned.parameter), curve.slope_ratio
    if ratio is not None:
        is_open = ratio.verdict is Verdict.INCONCLUSIVE
        cost = "inconclusive: CPU" if is_open else f"{format_change(ratio)} CPU"
        turn = f", {_turn(curve)} on" if curve.turns_at is not None else ""
        yield Headline(
            text=f"{curve.label}: {cost} for each {one}{turn}",
            style=f"bold {STYLES[ratio.verdict]}",
            mark=MARKS[ratio.verdict],
            aside=f"95 %: {format_range(ratio)}",
        )
    elif curve.slope is not None and len(scanned.curves) == 1:
        text = f"{curve.label}: each {one} {_read_out(curve.slope, _MICRO)} µs of CPU a second"
        yield Headline(text=text, style="bold")
    if curve.growth is not None and curve.growth.fit is None and not scanned.is_disturbed:
        how = _how(curve, one, scanned.parameter)
        yield Headline(text=f"{curve.label}: {how}", style="bold yellow", mark="!")


def sentences(scanned: Scanned, bound_s: float | None = None) -> list[str]:
    """Says of each revision what it costs and how that grows, and what fits under a bound."""
    said = [sentence for curve in scanned.curves for sentence in _about(curve, scanned)]
    if scanned.is_disturbed:
        said.append(
            "In most of these rounds the machine did something else, in every attempt, so no line "
            "is fitted. Let it rest, or give the comparison one of its own."
        )
    if bound_s is not None:
        said += [_about_fit(one, scanned.parameter, bound_s) for one in fits(scanned, bound_s)]
    return said


def _about(curve: Curve, scanned: Scanned) -> list[str]:
    one, many = _one(scanned.parameter), scanned.parameter
    said = []
    if curve.constant is not None and curve.slope is not None:
        said.append(
            f"{curve.label}: a worker costs {_read_out(curve.constant, 100)} % of a core, each "
            f"{one} {_read_out(curve.slope, _MICRO)} µs of CPU a second more{_told_ratio(curve)}."
        )
    how = "" if scanned.is_disturbed else _how(curve, one, many)
    if how:
        said.append(f"{curve.label}: {how}.")
    if curve.turns_at is not None:
        said.append(
            f"{curve.label} and {scanned.curves[0].label} grow in different ways: {curve.label} "
            f"costs {_turn(curve)} {many} on."
        )
    lacking = [point for point in curve.points if point.cost is None and point.lacks]
    said += [f"{curve.label}, {format_value(p.value)} {many}: {p.lacks}." for p in lacking]
    return said


def _turn(curve: Curve) -> str:
    """From where on the whole cost contradicts the ratio of what each input adds."""
    assert curve.turns_at is not None
    assert curve.slope_ratio is not None
    less = "less" if curve.slope_ratio.value > 1 else "more"
    return f"{less} in all from {format_value(curve.turns_at)}"


def _how(curve: Curve, one: str, many: str) -> str:
    """How the cost grows where that is no line."""
    found, measured = curve.growth, curve.measured
    if found is None:
        return "too few values were measured for a line"
    at = "" if found.at is None else format_value(measured[found.at].value)
    off = f"a line is off by {abs(found.off) * 100:.0f} % at "
    off += f"{format_value(measured[found.worst].value)} {many}"
    direction = "faster" if found.shape is Shape.CURVE_UP else "more slowly"
    return {
        Shape.LINE: "",
        Shape.SATURATING: (
            f"the cost nears a whole core, as that of a worker that looks at all {many} and then "
            f"sleeps for a fixed time: what each {one} adds shrinks as its passes take longer"
        ),
        Shape.WALL: f"a wall: from {at} {many} on the cost cannot grow, and the work must wait",
        Shape.STEP: f"no line fits: the cost jumps at {at} {many}",
        Shape.UNKNOWN: f"no line fits: {off}",
    }.get(
        found.shape,
        f"no line fits: the cost grows {direction} than the number of {many}, "
        f"{_power(curve, many)}; {off}",
    )


def _power(curve: Curve, many: str) -> str:
    """By which power a curve grows where it is known last."""
    power = curve.growth.power if curve.growth else None
    if power is None:
        return "by no power"
    before, last = (format_value(point.value) for point in curve.tried_on[-2:])
    return f"with the power {power:.1f} of {many} from {before} to {last}"


def _told_ratio(curve: Curve) -> str:
    ratio = curve.slope_ratio
    if ratio is None:
        return ""
    return f", × {ratio.value:.3g} of the baseline's {format_interval(ratio)}".rstrip()


def _about_fit(found: Fits, parameter: str, bound_s: float) -> str:
    bound = f"{bound_s * 1000:g} ms"
    if found.over is None:
        return f"{found.label}: all {parameter} tried fit: lateness stays under {bound}."
    late, at = found.over.lateness, format_value(found.over.value)
    why = (
        "lateness is not known there" if late is None else f"lateness is {_read_out(late, 1e3)} ms"
    )
    if found.most is None:
        return f"{found.label}: not even {at} {parameter} fit under {bound}: {why}."
    fitting = format_value(found.most)
    return f"{found.label}: {fitting} {parameter} fit under {bound} of lateness; at {at} {why}."


def plain(scanned: Sequence[Scanned], bound_s: float | None = None) -> list[dict[str, Any]]:
    """Everything that is known of each scan, ready for JSON: costs in cores."""
    return [
        {
            "scenario": one.scenario,
            "parameter": one.parameter,
            "rounds": one.rounds,
            "disturbed": one.is_disturbed,
            "revisions": [_plain_curve(curve) for curve in one.curves],
            "sentences": sentences(one, bound_s),
            **({} if bound_s is None else {"fits": _plain_fits(one, bound_s)}),
        }
        for one in scanned
    ]


def _plain_curve(curve: Curve) -> dict[str, Any]:
    found = curve.growth
    return {
        "label": curve.label,
        "points": [
            {
                "value": point.value,
                "cores": _plain(point.cost),
                "lateness_s": _plain(point.lateness),
                "lacks": point.lacks,
            }
            for point in curve.points
        ],
        "constant": _plain(curve.constant),
        "slope": _plain(curve.slope),
        "slope_ratio": _plain(curve.slope_ratio),
        "turns_at": curve.turns_at,
        "growth": None if found is None else found.shape.value,
        "fitted_to": curve.tried_on[-1].value if curve.tried_on else None,
        "breaks_at": None if found is None or found.at is None else curve.measured[found.at].value,
    }


def _plain_fits(scanned: Scanned, bound_s: float) -> list[dict[str, Any]]:
    return [
        {"label": one.label, "under_s": bound_s, "most": one.most,
         "over": None if one.over is None else one.over.value}
        for one in fits(scanned, bound_s)
    ]  # fmt: skip


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "count")}


def part(scanned: Scanned, bound_s: float | None = None) -> Part:
    """What a page shows of a scan before each of its values."""
    drawn = chart(scanned)
    return Part(
        title=title(scanned),
        sentences=tuple(sentences(scanned, bound_s)),
        tables=(_costs(scanned), _without_notes(_lines(scanned, None))),
        charts=() if drawn is None else (drawn,),
    )


def _without_notes(table: Table) -> Table:
    return Table(title=table.title, header=table.header, rows=table.rows, least=table.least)


def chart(scanned: Scanned) -> Chart | None:
    """Cost against the value, both axes logarithmic: each run a dot, a line through the means."""
    rows = [
        {
            "revision": curve.label,
            "value": point.value,
            "run": rounded(run * 100),
            "mean": rounded(point.cost.value * 100),
        }
        for curve in scanned.curves
        for point in curve.points
        if point.cost is not None
        for run in point.runs
        if run > 0
    ]
    if not rows:
        return None
    colour = {
        "field": "revision", "type": "nominal", "sort": None, "scale": {"range": list(COLOURS)},
        "legend": {"title": None, "orient": "bottom", "labelLimit": 160},
    }  # fmt: skip
    value = {"field": "value", "type": "quantitative", "scale": {"type": "log"},
             "title": scanned.parameter, "axis": {"grid": False, "tickCount": 6}}  # fmt: skip
    cost = {"type": "quantitative", "scale": {"type": "log"}, "title": "% of a core",
            "axis": {"grid": False, "tickCount": 5}}  # fmt: skip
    spec = {
        "height": _HEIGHT,
        "encoding": {"x": value, "color": colour},
        "layer": [
            {
                "mark": {"type": "line", "aria": False},
                "encoding": {"y": {**cost, "field": "mean", "aggregate": "mean"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 30, "opacity": 0.7},
                "encoding": {
                    "y": {**cost, "field": "run"},
                    "tooltip": [{"field": name} for name in rows[0]],
                },
            },
        ],
    }
    return Chart(
        title=f"CPU while waiting by {scanned.parameter}; both axes logarithmic",
        description=f"CPU while waiting in {scanned.scenario} against {scanned.parameter}.",
        spec=spec,
        rows=rows,
    )


def format_value(value: float) -> str:
    """A value of a scan, as people write it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def _one(parameter: str) -> str:
    """What one of them is called; English, as the parameters of the project are."""
    if parameter.endswith("sses"):
        return parameter[:-2]
    return parameter.removesuffix("s") if len(parameter) > 1 else parameter


def _percent(cost: Estimate) -> str:
    spread = format_spread(cost, lambda cores: f"{format_number(cores * 100)} %")
    return f"{format_number(cost.value * 100)} {spread}".rstrip()


def _micro(slope: Estimate) -> str:
    spread = format_spread(slope, lambda cores: f"{format_number(cores * _MICRO)}")
    return f"{format_number(slope.value * _MICRO)} {spread}".rstrip()


def _read_out(estimate: Estimate, factor: float) -> str:
    """A value with its interval, in a sentence."""
    value = format_number(estimate.value * factor)
    if estimate.low is None or estimate.high is None:
        return value
    low, high = (format_number(end * factor) for end in (estimate.low, estimate.high))
    return f"{value} ({CONFIDENCE * 100:.0f} % CI {low}–{high})"
