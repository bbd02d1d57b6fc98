"""Formats curves of scans as tables and headlines."""

from collections.abc import Iterator, Sequence

from waitbench.analysis.results import Note
from waitbench.features.scan.curves import TOLERANCE, Curve, ScanCurves
from waitbench.model.verdicts import Estimate, Verdict
from waitbench.reporting.document import Column, Heading, Table, TextCell
from waitbench.reporting.drawing import MARKS, WARNING, colours_of
from waitbench.reporting.forest import TOO_FEW
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_digits,
    format_range,
)
from waitbench.reporting.idle import dot_column, figure_column

_MICRO = 1e6


def title(scan: ScanCurves) -> str:
    rounds = format_count(scan.rounds, "round", "rounds")
    return f"{scan.scenario} by {scan.parameter} · {rounds}"


def table(scan: ScanCurves) -> Table:
    """A row for each value and revision. The notes have the lines through costs: see ``curves``."""
    curves = scan.curves
    rows = [(value, curve) for value in scan.values for curve in curves]
    costs = [curve.costs.get(value) for value, curve in rows]
    colours = colours_of([curve.label for curve in curves])
    names = [TextCell(text=curve.label, colour=colours[curve.label]) for _, curve in rows]
    values = [TextCell(text=_format_value(value), sort=value) for value, _ in rows]
    columns: list[Column] = [
        (Heading(scan.parameter), values),
        (Heading("revision"), names),
        figure_column("% core", [cost.value if cost else None for cost in costs], "core"),
        ("95 %", [_interval(cost, 100) if cost else NOTHING for cost in costs]),
        dot_column(costs, [name.colour for name in names]),
    ]
    late = [curve.lateness.get(value) for value, curve in rows]
    if any(late):
        columns.append(
            figure_column("late", [mean.value if mean else None for mean in late], "second")
        )
    notes = [_line(curve, scan.parameter) for curve in curves if curve.slope]
    return Table(f"{title(scan)} · idle CPU", columns, notes)


def _line(curve: Curve, parameter: str) -> str:
    parts = (
        ("C", curve.constant, 100, " % of a core"),
        ("R", curve.slope, _MICRO, f" µs/s for each {_singular(parameter)}"),
    )
    texts = [
        f"{name} {_digits(cost.value * scale)}{unit} ({_interval(cost, scale)})"
        for name, cost, scale, unit in parts
        if cost is not None
    ]
    return f"{curve.label}, C + N·R: {', '.join(texts)}"


def _interval(cost: Estimate, scale: float) -> str:
    ends = (end for end in (cost.low, cost.high) if end is not None)
    return "–".join(_digits(end * scale) for end in ends) or NOTHING


def _digits(value: float) -> str:
    return format_digits(value, 2, zeros=True)


def headlines(scans: Sequence[ScanCurves]) -> Iterator[Note]:
    """The cost of a further input for each revision, or the reason why there is no line."""
    for scan in scans:
        for curve in scan.curves:
            level, text = _headline(curve, scan)
            if text:
                text = f"{curve.label}: {text}"
                yield Note(kind="change", level=level, text=text, revision=curve.label)


def _headline(curve: Curve, scan: ScanCurves) -> tuple[str, str]:
    """The level and the text of a headline. A baseline with candidates has no text."""
    unit, ratio = _singular(scan.parameter), curve.slope_ratio
    if ratio is not None:
        interval, is_open = format_range(ratio), ratio.verdict is Verdict.INCONCLUSIVE
        change = "inconclusive:" if interval and is_open else format_change(ratio.value)
        how_sure = f" (95 %: {interval})" if interval else f", {TOO_FEW} for an interval"
        return MARKS[ratio.verdict], f"{change} CPU for each {unit}{how_sure}"
    if curve.off_at is not None:
        where = f"{_format_value(curve.off_at)} {scan.parameter}"
        off = f"{TOLERANCE * 100:g} % off the best line"
        return WARNING, f"not a line: the cost at {where} is more than {off}"
    if curve.slope is None:
        return WARNING, "too few values were measured for a line"
    if scan.curves[1:]:
        return "", ""
    return "", f"each {unit} {format_digits(curve.slope.value * _MICRO)} µs of CPU a second"


def _format_value(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def _singular(parameter: str) -> str:
    if parameter.endswith("sses"):
        return parameter[:-2]
    return parameter.removesuffix("s") if len(parameter) > 1 else parameter
