"""Scans -> tables, sentences and plain data: what a worker costs, and each input more."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from waitbench.analysis.results import Note
from waitbench.analysis.scan import TOLERANCE, Curve, Scanned
from waitbench.model.estimate import Estimate
from waitbench.model.scan import SILENCE
from waitbench.model.verdicts import Verdict
from waitbench.reporting.document import Column, Heading, Table, Word
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.forest import TOO_FEW
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_digits,
    format_number,
    format_quantity,
    format_range,
)
from waitbench.reporting.idle import axis_of, column, dot_of
from waitbench.reporting.summary import MARKS, WARNING

_MICRO = 1e6


def title(scanned: Scanned) -> str:
    """Scenario, parameter, and how many rounds."""
    rounds = format_count(scanned.rounds, "round", "rounds")
    return f"{scanned.scenario} by {scanned.parameter} · {rounds}"


def tables(scanned: Sequence[Scanned]) -> list[Table]:
    """Of each scan what each value costs, and C and R of the line through that."""
    return [_table(each) for each in scanned]


def _table(scanned: Scanned) -> Table:
    curves = scanned.curves
    rows = [(value, one, one.costs.get(value)) for value in scanned.values for one in curves]
    costs = [cost for *_, cost in rows]
    axis, colours = axis_of(filter(None, costs)), colours_of([one.label for one in curves])
    names = [Word(text=one.label, colour=colours[one.label]) for _, one, _ in rows]
    dots = [dot_of(cost, axis, colours[one.label]) if cost else "" for _, one, cost in rows]
    values = [Word(text=format_value(value), sort=value) for value, *_ in rows]
    unit = ", s" if scanned.parameter == SILENCE else ""
    columns: list[Column] = [
        (Heading(f"{scanned.parameter}{unit}"), values),
        (Heading("revision"), names),
        column("% core", [cost.value if cost else None for cost in costs], "core"),
        ("95 %", [_interval(cost, 100) if cost else NOTHING for cost in costs]),
        (Heading("% of a core, logarithmic", axis=axis), dots),
    ]
    late = [one.lateness.get(value) for value, one, _ in rows]
    if any(late):
        columns.append(column("late", [one.value if one else None for one in late], "second"))
    return Table(
        f"{title(scanned)} · idle CPU",
        columns,
        notes=[_line(one, scanned.parameter) for one in curves if one.slope],
    )


def _line(curve: Curve, parameter: str) -> str:
    known = (
        ("C", curve.constant, 100, " % of a core"),
        ("R", curve.slope, _MICRO, f" µs/s for each {_one(parameter)}"),
    )
    said = [
        f"{name} {format_digits(of.value * scale, 2, zeros=True)}{unit} ({_interval(of, scale)})"
        for name, of, scale, unit in known
        if of is not None
    ]
    return f"{curve.label}, C + N·R: {', '.join(said)}"


def _interval(cost: Estimate, scale: float) -> str:
    ends = (end for end in (cost.low, cost.high) if end is not None)
    return "–".join(format_digits(end * scale, 2, zeros=True) for end in ends) or NOTHING


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
    if scanned.parameter == SILENCE:
        return "", _after(curve)
    one, ratio = _one(scanned.parameter), curve.slope_ratio
    if ratio is not None:
        interval, is_open = format_range(ratio), ratio.verdict is Verdict.INCONCLUSIVE
        change = "inconclusive:" if interval and is_open else format_change(ratio)
        how_sure = f" (95 %: {interval})" if interval else f", {TOO_FEW} for an interval"
        return MARKS[ratio.verdict], f"{change} CPU for each {one}{how_sure}"
    if curve.off_at is not None:
        where = f"{format_value(curve.off_at)} {scanned.parameter}"
        return (
            WARNING,
            f"not a line: the cost at {where} is more than {TOLERANCE * 100:g} % off the best line",
        )
    if curve.slope is None:
        return WARNING, "too few values were measured for a line"
    if scanned.curves[1:]:
        return "", ""
    return "", f"each {one} {format_number(curve.slope.value * _MICRO)} µs of CPU a second"


def _after(curve: Curve) -> str:
    """What a worker costs after the shortest silence and the longest, and how late it answers."""
    values = sorted(curve.costs.keys() & curve.lateness)
    return "; ".join(
        f"after {format_value(value)} s {format_number(curve.costs[value].value * 100)} % of a "
        f"core, {format_quantity(curve.lateness[value].value, 'second')} late"
        for value in dict.fromkeys((*values[:1], *values[-1:]))
    )


def plain(scanned: Sequence[Scanned]) -> list[dict[str, Any]]:
    """Everything that is known of each scan, ready for JSON: costs in cores."""
    return [asdict(each) for each in scanned]


def format_value(value: float) -> str:
    """A value of a scan, as people write it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def _one(parameter: str) -> str:
    """What one of them is called; English, as the parameters of the project are."""
    if parameter.endswith("sses"):
        return parameter[:-2]
    return parameter.removesuffix("s") if len(parameter) > 1 else parameter
