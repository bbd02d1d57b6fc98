"""What all charts share."""

import pytest

from tests.reporting.charts.figures import compared, legend_of, steady_runs
from waitbench.analysis.medians import Median
from waitbench.reporting.charts import plane, style
from waitbench.reporting.charts import times as times_chart


@pytest.mark.parametrize(
    "labels",
    [
        ["_hidden", "$maths$"],
        [f"a-revision-with-a-label-of-forty-chars-{n}" for n in range(9)],
        ["x" * 200, "y"],
        [f"_{number:02}".center(200, "x") for number in range(10)],
    ],
)
def test_legends_name_every_revision_and_are_not_cut_off(labels: list[str]) -> None:
    comparison = compared({label: steady_runs(2) for label in labels})
    for figure in (times_chart.draw(comparison), plane.draw(comparison)):
        figure.draw_without_rendering()
        shown = legend_of(figure)
        assert len(set(shown)) == len(labels)
        assert [text[:20] for text in shown] == [label[:20] for label in labels]
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        below = figure.axes[0].get_tightbbox()
        assert below is not None
        assert box.y1 <= below.y0, "the legend lies below the axes"


def test_colours_repeat_with_another_marker() -> None:
    looks = [(style.colour(number), style.marker(number)) for number in range(20)]
    assert len(set(looks)) == 20


@pytest.mark.parametrize(
    ("sure", "said"),
    [
        ([True, True], "band: 95 % interval"),
        ([False], "band: range (too few runs for a 95 % interval)"),
        ([True, False], "band: 95 % interval, or range where runs are too few"),
    ],
)
def test_what_bands_mean_is_said(sure: list[bool], said: str) -> None:
    medians = [Median(value=2, low=1, high=3, is_confident=flag) for flag in sure]
    assert style.explain(medians) == f"dot: run · line: median · {said}"
