"""The chart of a load: what is drawn."""

from dataclasses import replace

from tests.families import drawn
from tests.families.embedding.loads import one_load
from waitbench.families.embedding.charts import figures
from waitbench.families.embedding.kept import summarize

DIRECT = summarize([one_load(0.010, 4)])
PROXY = summarize([one_load(0.020, 8, upstream_calls=2)])


def test_each_mode_has_its_rate_its_distribution_and_its_cost() -> None:
    (figure,) = figures({"direct": DIRECT, "proxy-fixed": PROXY}).values()
    many, late, cost = figure.axes
    assert [bar.height for bar in drawn.bars(many)] == [0.4, 0.8]
    assert list(map(drawn.xs, late.lines)) == [[10.0] * 4, [20.0] * 8]
    assert drawn.ys(late.lines[0]) == [1, 0.75, 0.5, 0.25]
    stacked = [(bar.y, bar.height) for bar in drawn.bars(cost)]
    assert stacked == [(0, 250), (250, 0), (0, 125), (125, 62.5)], "embedder, then proxy"
    assert drawn.legend(figure) == ["direct", "proxy-fixed"]


def test_a_client_that_gives_percentiles_only_is_drawn_by_these() -> None:
    (figure,) = figures({"direct": replace(DIRECT, latencies_s=())}).values()
    (line,) = figure.axes[1].lines
    assert drawn.xs(line) == [500, 600, 700, 1000]
    assert drawn.ys(line) == [0.5, 0.1, 0.01, 0]


def test_a_mode_without_an_answer_is_drawn_all_the_same() -> None:
    silent = replace(DIRECT, statuses={}, latencies_s=(), percentiles_s={}, requests_per_s=0.0)
    (figure,) = figures({"direct": silent, "proxy-fixed": PROXY}).values()
    assert drawn.xs(figure.axes[1].lines[0]) == []


def test_without_a_load_there_is_no_chart() -> None:
    assert figures({}) == {}
