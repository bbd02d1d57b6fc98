"""Charts: dots with their intervals, read from figures; files of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from msgspec import structs

from tests.gate_runs import failing
from tests.records import Runs, make_record, waits
from tests.reporting.made_up import many
from waitbench.analysis import statistics
from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import HarnessError
from waitbench.model.verdicts import Estimate, Verdict
from waitbench.reporting import bars, charts
from waitbench.reporting.charts import draw_bars, draw_table
from waitbench.reporting.document import Contribution, Dot, Heading, Table
from waitbench.reporting.drawing import TONES, Axis
from waitbench.reporting.findings import findings, gate_table
from waitbench.reporting.forest import COLUMNS, GATE_COLUMNS, axis_of, tabulate


def compared(runs: Mapping[str, Runs], **changes: Any) -> Comparison:
    return statistics.compare(make_record(runs, **changes))


def xs(line: Line2D) -> list[float]:
    return [float(value) for value in np.asarray(line.get_xdata())]


def row(value: float, *, low: float, high: float, is_open: bool = False) -> Dot:
    return Dot(Estimate(value, low, high, 5), (1.0, 1.1), "#0072B2", is_open)


def draw(*dots: Dot, reach: float = 4) -> Axes:
    names, changes = ["? CPU"] * len(dots), ["it"] * len(dots)
    ratio = Heading("ratio", axis=Axis.of_ratios(reach))
    columns = ((Heading("cost"), names), ("change", changes), (ratio, dots))
    return axes_of(draw_table(Table("title", columns)))


def gate(*answers: MetricResult) -> Axes:
    return axes_of(draw_table(tabulate("gate", answers, GATE_COLUMNS, axis=axis_of(answers))))


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def test_a_dot_has_a_band_and_an_interval_is_hollow_while_open_and_beyond_an_arrow() -> None:
    axes = draw(
        row(2, low=1, high=3),
        row(1, low=0.5, high=2, is_open=True),
        row(36, low=31, high=39),
    )
    _, interval, dot, _, hollow, _, arrow = axes.lines
    assert xs(interval) == [1, 3]
    assert (xs(dot), dot.get_marker()) == ([2], "o")
    assert axes.get_xscale() == "log"
    band, *_ = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert (band.get_x(), round(band.get_width(), 6)) == (1, 0.1)
    assert hollow.get_markerfacecolor() == "white"
    assert (xs(arrow), arrow.get_marker()) == ([4], ">")


def test_the_middle_of_a_gate_is_the_limit_of_every_row_and_its_axis_holds_the_worst() -> None:
    answer = failing().judgements[0]
    criterion = structs.replace(answer.criterion, margin=0.25)
    answer = replace(answer, criterion=criterion, ratio=Estimate(1.5, 1.4, 1.6, 8))
    axes = gate(answer, replace(answer, criterion=structs.replace(criterion, allowance=0.1)))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["÷2", "limit", "×2"]
    dots = [xs(line)[0] for line in axes.lines if line.get_marker() == "o"]
    assert dots == [1.5 / 1.25, 1.5]
    bands = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [(band.get_x(), band.get_x() + band.get_width()) for band in bands] == [
        (0.8, 1), (0.5, 1),
    ], "no change; with an allowance all up to the limit"  # fmt: skip
    worst = replace(answer, ratio=Estimate(39, 31, 45, 8), verdict=Verdict.SLOWER)
    assert gate(answer, worst).get_xlim() == (1 / 50, 50)


def test_less_is_green_more_is_red_and_what_is_open_is_grey_and_hollow() -> None:
    (first,) = compared({"a": waits(1), "b": waits(2)}).results[:1]
    verdicts = (Verdict.FASTER, Verdict.SLOWER, Verdict.WITHIN_MARGIN, Verdict.INCONCLUSIVE)
    results = [replace(first, verdict=it, ratio=Estimate(2, 1.9, 2.1, 5)) for it in verdicts]
    axes = axes_of(draw_table(tabulate("", results, COLUMNS, axis=axis_of(results))))
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    tones = [TONES["green"], TONES["red"], "#555555", "#555555"]
    assert [dot.get_color() for dot in dots] == tones
    assert [dot.get_markerfacecolor() for dot in dots] == [*tones[:3], "white"]


def test_the_chart_of_a_gate_names_each_place_once_above_what_was_asked_there() -> None:
    verdict = many()
    answers = verdict.judgements
    axes = axes_of(draw_table(gate_table(findings((), verdict), answers, "gate")))
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names[0] == "2 waiting scenarios together"
    assert len(names) == len(answers) + len({answer.scenario for answer in answers})
    assert len(axes.texts) == 3 * len(answers), "a mark, a change and its bounds"


PAGE_PIXELS = 830
"""How wide GitHub shows a picture of a README."""
LEAST_PIXELS = 9


def drawn(labels: list[str]) -> list[Figure]:
    """Charts of bars and of ratios, of revisions with these labels beside a baseline."""
    every = ["base", *labels]
    comparison = compared({label: waits(1 + n, count=2) for n, label in enumerate(every)})
    ratios = comparison.results
    rows = tabulate("", ratios, COLUMNS, axis=axis_of(ratios))
    shown = bars.compose([comparison], "5 rounds")["costs"]
    return [draw_bars(shown), draw_table(rows)]


@pytest.mark.parametrize(
    "labels",
    [
        ["_hidden", "$maths$"],
        [f"a-revision-with-a-label-of-forty-chars-{n}" for n in range(13)],
        [f"_{number:02}".ljust(200, "x") for number in range(10)],
    ],
)
def test_every_revision_is_named_and_every_text_can_be_read_where_a_readme_shows_it(
    labels: list[str],
) -> None:
    for figure in drawn(labels):
        figure.draw_without_rendering()
        shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        texts = {text.get_text().replace("\u200b", "") for text in shown}
        named = {text for text in texts if any(label[:6] in text for label in labels)}
        assert len(named) >= len(labels)
        for text in shown:
            pixels = float(text.get_fontsize()) * PAGE_PIXELS / (72 * figure.get_figwidth())
            assert pixels >= LEAST_PIXELS, text.get_text()


def test_every_chart_that_there_is_data_for_is_written_and_the_same_each_time(
    tmp_path: Path,
) -> None:
    runs = {"a": waits(1, count=2), "b": waits(1, count=3)}
    waiting, other = compared(runs), compared(runs, scenario="other", waits=False)
    rows = tabulate("", waiting.results, COLUMNS, axis=axis_of(waiting.results))
    more = [Contribution(charts={"more": rows})]
    all_findings = findings([waiting, other], failing(), contributions=more)
    drawn = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        files = charts.draw_all(replace(all_findings, folder=folder))
        names = ("costs", "waiting", "overview", "gate", "more")
        assert files == [folder / f"{name}.png" for name in names]
        drawn.append([path.read_bytes() for path in files])
    assert drawn[0] == drawn[1]
    assert {content[:8] for content in drawn[0]} == {b"\x89PNG\r\n\x1a\n"}


def test_a_chart_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"missing/chart\.png cannot be written"):
        charts.save(Figure(), tmp_path / "missing", "chart")
