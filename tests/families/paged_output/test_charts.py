"""The chart of the published tables, remade: what is drawn."""

import pytest

from tests.families import drawn
from tests.families.paged_output.rows import measured
from waitbench.families.paged_output.charts import figures
from waitbench.families.paged_output.paging import Paging


def test_each_row_has_a_bar_for_either_side_in_time_and_in_cpu() -> None:
    rows = [measured(), measured("passthrough", 2000)]
    (figure,) = figures(Paging(rows, 0.0)).values()
    times, cpus = figure.axes
    assert [bar.width for bar in drawn.bars(times)] == pytest.approx([2000, 1000, 500, 250])
    assert [bar.width for bar in drawn.bars(cpus)] == pytest.approx([1000, 500, 250, 125])
    names = [label.get_text() for label in times.get_yticklabels()]
    assert names == ["noop, 1,000 × 25", "passthrough, 2,000 × 25"]
    assert drawn.legend(figure) == ["regular", "paged"]


def test_the_bars_of_a_row_stand_around_its_name() -> None:
    (figure,) = figures(Paging([measured(), measured()], 0.0)).values()
    middles = [bar.y + bar.height / 2 for bar in drawn.bars(figure.axes[0])]
    assert middles == pytest.approx([-0.2, 0.8, 0.2, 1.2])


def test_without_rows_there_is_no_chart() -> None:
    assert figures(None) == {}
    assert figures(Paging([], 0.0)) == {}
