"""Charts of calls to a model: what is drawn."""

from tests.families import drawn
from tests.families.scoring.records import asked, calls
from waitbench.families.scoring.charts import figures


def test_each_transport_is_a_line_and_a_stack_and_the_limit_is_named() -> None:
    records = [
        asked("blocking", calls(4, 2), call_user=0.001, call_model_user=0.003),
        asked("inprocess", calls(1, 8, lines=5)),
    ]
    (figure,) = figures(records).values()
    late, many, cost = figure.axes
    assert list(map(drawn.xs, late.lines)) == [[2, 4], [1, 8], [10, 10]]
    assert list(map(drawn.ys, late.lines[:2])) == [[1, 0.5], [1, 0.5]]
    assert [text.get_text() for text in late.texts] == ["limit"]
    assert list(map(drawn.xs, many.lines)) == [[10, 10], [5, 5]]
    tops = [bar.y + bar.height for bar in drawn.bars(cost)]
    assert [round(top, 9) for top in tops] == [1, 1, 4, 4, 0, 0, 0, 0]
    assert drawn.legend(figure) == ["blocking", "inprocess"]


def test_without_calls_there_is_no_chart() -> None:
    assert figures([]) == {}
    assert figures([asked("blocking", [])]) == {}
