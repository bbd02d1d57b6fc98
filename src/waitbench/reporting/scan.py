"""Scans -> tables, sentences and plain data: what a worker costs, and each input more."""

from collections.abc import Iterator, Sequence
from typing import Any

from waitbench.analysis.results import Note
from waitbench.analysis.scan import Curve, Scanned
from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.document import (
    Cell,
    Heading,
    Table,
    Word,
)
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_number,
    format_range,
    format_spread,
)
from waitbench.reporting.summary import MARKS, STYLES, WARNING

_MICRO = 1e6


def title(scanned: Scanned) -> str:
    """Scenario, parameter, and how many rounds."""
    rounds = format_count(scanned.rounds, "round", "rounds")
    return f"{scanned.scenario} by {scanned.parameter} · {rounds}"


def tables(scanned: Sequence[Scanned]) -> list[Table]:
    """Of each scan the costs at each value, and the line through them."""
    return [one for each in scanned for one in (_costs(each), _lines(each))]


def _costs(scanned: Scanned) -> Table:
    return Table(
        title=f"{title(scanned)} · steady CPU, % of a core, means",
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
    return NOTHING if cost is None else Word(text=_percent(cost), sort=cost.value)


def _lines(scanned: Scanned) -> Table:
    one = _one(scanned.parameter)
    has_ratios = any(curve.slope_ratio is not None for curve in scanned.curves)
    return Table(
        title=f"{title(scanned)} · what a worker costs, and what each {one} adds",
        header=(
            Heading("revision"),
            Heading("C, % of a core", short="C, % of\na core", is_left=False),
            Heading(f"R, µs of CPU a second and {one}", short="R, µs/s", is_left=False),
            *([Heading("R, ratio", is_left=False)] if has_ratios else []),
        ),
        rows=tuple(
            (
                curve.label,
                NOTHING if curve.constant is None else _percent(curve.constant),
                NOTHING if curve.slope is None else _micro(curve.slope),
                *([_ratio(curve)] if has_ratios else []),
            )
            for curve in scanned.curves
        ),
        notes=notes(scanned),
    )


def _ratio(curve: Curve) -> Cell:
    ratio = curve.slope_ratio
    if ratio is None:
        return NOTHING
    interval = format_range(ratio)
    text = f"{format_change(ratio)}{f' ({interval})' if interval else ''}"
    return Word(text=text, style=STYLES[ratio.verdict], sort=ratio.value)


def headlines(scanned: Sequence[Scanned]) -> Iterator[Note]:
    """What further inputs cost each candidate, against the baseline, or that it is not a line.

    Of a baseline alone what they cost it.
    """
    for each in scanned:
        for curve in each.curves:
            level, text = _headline(curve, each)
            if text:
                text = f"{curve.label}: {text}"
                yield Note(kind="change", level=level, text=text, revision=curve.label)


def _headline(curve: Curve, scanned: Scanned) -> tuple[str, str]:
    one, ratio = _one(scanned.parameter), curve.slope_ratio
    if ratio is not None:
        is_open = ratio.verdict is Verdict.INCONCLUSIVE
        cost = "inconclusive: CPU" if is_open else f"{format_change(ratio)} CPU"
        return MARKS[ratio.verdict], f"{cost} for each {one} (95 %: {format_range(ratio)})"
    if curve.slope is not None and len(scanned.curves) == 1:
        return "", f"each {one} {format_number(curve.slope.value * _MICRO)} µs of CPU a second"
    return (WARNING, _why_not(curve, scanned)) if not curve.lines else ("", "")


def notes(scanned: Scanned) -> tuple[str, ...]:
    """What a reader must know beside the lines."""
    found = [
        f"{curve.label}: {_why_not(curve, scanned)}."
        for curve in scanned.curves
        if curve.constant is None or curve.slope is None
    ]
    found += [
        f"{curve.label}, {format_value(point.value)} {scanned.parameter}: {point.failure}."
        for curve in scanned.curves
        for point in curve.points
        if point.failure
    ]
    if scanned.is_disturbed:
        found.append(
            "Other programs used the machine in most of these rounds: what bends a line may be "
            "theirs."
        )
    return tuple(found)


def _why_not(curve: Curve, scanned: Scanned) -> str:
    """Why a curve has no line."""
    if curve.misfit is None:
        return "too few values were measured for a line"
    value = format_value(curve.misfit.value)
    side = "above" if curve.misfit.off > 0 else "below"
    off = f"{abs(curve.misfit.off) * 100:.0f} % {side} the best one"
    return f"not a line: the cost at {value} {scanned.parameter} is {off}"


def plain(scanned: Sequence[Scanned]) -> list[dict[str, Any]]:
    """Everything that is known of each scan, ready for JSON: costs in cores."""
    return [
        {
            "scenario": one.scenario,
            "parameter": one.parameter,
            "rounds": one.rounds,
            "disturbed": one.is_disturbed,
            "revisions": [_plain_curve(curve) for curve in one.curves],
            "notes": list(notes(one)),
        }
        for one in scanned
    ]


def _plain_curve(curve: Curve) -> dict[str, Any]:
    off = curve.misfit
    return {
        "label": curve.label,
        "points": [
            {"value": point.value, "cores": _plain(point.cost), "failure": point.failure}
            for point in curve.points
        ],
        "constant": _plain(curve.constant),
        "slope": _plain(curve.slope),
        "slope_ratio": _plain(curve.slope_ratio),
        "misfit": None if off is None else {"value": off.value, "off": off.off},
    }


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "count")}


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
