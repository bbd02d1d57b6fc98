"""Scans -> tables, sentences and plain data: what a worker costs, and each input more."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from waitbench.analysis.results import Note
from waitbench.analysis.scan import TOLERANCE, Curve, Scanned
from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.model.scan import SILENCE
from waitbench.reporting.document import Cell, Table, Word
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_digits,
    format_number,
    format_quantity,
    format_range,
)
from waitbench.reporting.summary import MARKS, WARNING

_MICRO = 1e6


def title(scanned: Scanned) -> str:
    """Scenario, parameter, and how many rounds."""
    rounds = format_count(scanned.rounds, "round", "rounds")
    return f"{scanned.scenario} by {scanned.parameter} · {rounds}"


def heading(parameter: str) -> str:
    """What stands above values of a parameter."""
    return f"{parameter}, s" if parameter == SILENCE else parameter


def tables(scanned: Sequence[Scanned]) -> list[Table]:
    """Of each scan what each value costs, then C and R of the line through them."""
    return [_table(each) for each in scanned]


def _table(scanned: Scanned) -> Table:
    curves, one = scanned.curves, _one(scanned.parameter)
    names: list[Cell] = [
        *(Word(text=format_value(value), sort=value) for value in scanned.values),
        "C: without any",
        f"R: each {one}, µs/s",
    ]
    columns: list[list[Cell]] = [
        [
            *(_cost(curve.costs.get(value)) for value in scanned.values),
            _cost(curve.constant),
            _cost(curve.slope, _MICRO),
        ]
        for curve in curves
    ]
    labels = (heading(scanned.parameter), *(curve.label for curve in curves))
    title_ = f"{title(scanned)} · steady CPU, % of a core, means"
    if scanned.parameter == SILENCE:
        # There is no line.
        names, *columns = (cells[: len(scanned.values)] for cells in (names, *columns))
    late = [
        (f"{curve.label}: late", [_late(curve.lateness.get(value)) for value in scanned.values])
        for curve in curves
        if curve.lateness
    ]
    late = [(label, [*cells, *[NOTHING] * (len(names) - len(cells))]) for label, cells in late]
    return Table(title_, (*zip(labels, (names, *columns), strict=True), *late))


def _late(lateness: Estimate | None) -> Cell:
    if lateness is None:
        return NOTHING
    return Word(text=format_quantity(lateness.value, "second"), sort=lateness.value)


def _cost(cost: Estimate | None, scale: float = 100) -> Cell:
    """A mean of cores, by default in per cent, with its interval."""
    if cost is None:
        return NOTHING
    value, *ends = (
        format_digits(one * scale, 3, zeros=True)
        for one in (cost.value, cost.low, cost.high)
        if one is not None
    )
    interval = f" ({'–'.join(ends)})" if ends else ""
    return Word(text=f"{value}{interval}", sort=cost.value)


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
        is_open = ratio.verdict is Verdict.INCONCLUSIVE
        cost = "inconclusive: CPU" if is_open else f"{format_change(ratio)} CPU"
        return MARKS[ratio.verdict], f"{cost} for each {one} (95 %: {format_range(ratio)})"
    if curve.off_at is not None:
        where = f"{format_value(curve.off_at)} {scanned.parameter}"
        return (
            WARNING,
            f"not a line: the cost at {where} is more than {TOLERANCE:.0%} off the best one",
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
