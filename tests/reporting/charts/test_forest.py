"""Dots with their intervals, read from the figures."""

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tests.gate_runs import failing
from tests.reporting.charts.figures import xs
from waitbench.analysis import results
from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import Estimate
from waitbench.reporting.charts import forest
from waitbench.reporting.document import Dot, Heading, Table
from waitbench.reporting.drawing import Axis
from waitbench.reporting.forest import (
    GATE_AXIS,
    GATE_COLUMNS,
    tabulate,
)


def row(value: float, *, low: float, high: float, is_open: bool = False) -> Dot:
    return Dot(Estimate(value, low, high, 5), (1.0, 1.1), "#0072B2", is_open)


def draw(*dots: Dot, reach: float = 4) -> Axes:
    names, changes = ["? CPU"] * len(dots), ["it"] * len(dots)
    ratio = Heading("ratio", axis=Axis.of_ratios(reach))
    columns = ((Heading("cost"), names), ("change", changes), (ratio, dots))
    return axes_of(forest.draw(Table("title", columns)))


def gate(*asked: MetricResult) -> Axes:
    return axes_of(forest.draw(tabulate("gate", asked, GATE_COLUMNS, axis=GATE_AXIS)))


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def test_a_dot_and_its_interval_are_those_of_the_row() -> None:
    axes = draw(row(2, low=1, high=3))
    _, interval, dot = axes.lines
    assert xs(interval) == [1, 3]
    assert (xs(dot), dot.get_marker()) == ([2], "o")
    assert axes.get_xscale() == "log"
    (band,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert (band.get_x(), round(band.get_width(), 6)) == (1, 0.1)


def test_what_is_open_is_hollow_and_what_is_beyond_is_an_arrow() -> None:
    axes = draw(row(1, low=0.5, high=2, is_open=True), row(36, low=31, high=39), reach=2)
    _, _, hollow, _, arrow = axes.lines
    assert hollow.get_markerfacecolor() == "white"
    assert (xs(arrow), arrow.get_marker()) == ([2], ">")


def test_the_middle_of_a_gate_is_the_limit_of_every_row() -> None:
    found = msgspec.structs.replace(
        results.of_verdict(failing())[0], margin=0.25, ratio=Estimate(1.5, 1.4, 1.6, 8)
    )
    axes = gate(found, msgspec.structs.replace(found, floor=0.1))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["÷2", "limit", "×2"]
    dots = [xs(line)[0] for line in axes.lines if line.get_marker() == "o"]
    assert dots == [1.5 / 1.25, 1.5]
    bands = [one for one in axes.patches if isinstance(one, Rectangle)]
    assert [(one.get_x(), one.get_x() + one.get_width()) for one in bands] == [
        (0.8, 1), (0.5, 1),
    ], "no change; with a floor all up to the limit"  # fmt: skip


def test_an_arrow_at_the_left_edge_is_clear_of_the_names() -> None:
    axes = draw(row(0.02, low=0.01, high=0.03))
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    arrow = axes.lines[-1]
    (name,) = axes.get_yticklabels()
    half = arrow.get_markersize() / 2 / 72 * figure.dpi
    middle = axes.transData.transform((xs(arrow)[0], 0))[0]
    assert name.get_window_extent().x1 < middle - half


def test_the_longest_name_of_a_default_question_is_whole() -> None:
    name = "✓ 10 waiting scenarios together · system calls while waiting"
    columns = ((Heading("cost"), [name]), (Heading("ratio", axis=GATE_AXIS), ["–"]))
    (label,) = axes_of(forest.draw(Table("title", columns))).get_yticklabels()
    assert label.get_text() == name
