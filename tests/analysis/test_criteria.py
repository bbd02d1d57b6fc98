"""Criteria, as they are written on the command line."""

import pytest

from waitbench.analysis import criteria
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, Metric


@pytest.mark.parametrize(
    ("text", "name", "margin", "floor", "alone"),
    [
        ("system:10%", "system", 0.10, 0.0, False),
        (" real:5% ", "real", 0.05, 0.0, False),
        ("polls:50%", "polls", 0.50, 0.0, False),
        ("polls-per-item:9999%", "polls-per-item", 99.99, 0.0, False),
        ("steady:0%", "steady", 0.0, 0.0, False),
        ("system:10%,20ms", "system", 0.10, 0.020, False),
        ("system:10%,alone", "system", 0.10, 0.0, True),
        ("system:2.5%,1.5s,alone", "system", 0.025, 1.5, True),
        ("system:2.5%, alone , 30 us", "system", 0.025, 30e-6, True),
        ("startup:1%,7µs", "startup", 0.01, 7e-6, False),
        ("polls:1%,7", "polls", 0.01, 7.0, False),
        ("rss:20%,5MiB", "rss", 0.20, 5 * 2**20, False),
        ("rss:20%,5kib", "rss", 0.20, 5 * 2**10, False),
        ("rss:20%,5B", "rss", 0.20, 5, False),
        ("rss:20%,", "rss", 0.20, 0, False),
    ],
)
def test_criteria_are_read(text: str, name: str, margin: float, floor: float, alone: bool) -> None:
    (criterion,) = criteria.parse([text], METRICS)
    assert (criterion.metric.name, criterion.alone) == (name, alone)
    assert (criterion.margin, criterion.floor) == pytest.approx((margin, floor))


FORM = r"^--fail-on '{}' is not METRIC:PERCENT%, such as system:10%, or system:10%,20ms, or "
MARGIN = r"^--fail-on '{}': the margin must be 0 % or more, and below 10,000 %\.$"
PERCENT = r"^--fail-on '{}': '{}' is not a number of per cent, such as system:10%"
ALONE = (
    r"^--fail-on '{}': 'alone' is for system time, "
    r"which is otherwise judged together with total CPU\.$"
)
FLOOR = r"^--fail-on '{}': '{}' is neither a floor, such as 20ms or 5MiB, nor 'alone'\.$"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, FORM.format(text)) for text in ("", "system", "system:", "system:10", "10%")),
        *((text, FORM.format(text)) for text in (":10%", "system:10%%", "SYSTEM:10%")),
        *((text, MARGIN.format(text)) for text in ("system:-5%", "system:nan%", "system:inf%")),
        ("system:10000%", MARGIN.format("system:10000%")),
        ("system:x%", PERCENT.format("system:x%", "x")),
        ("system:10%,x", FLOOR.format("system:10%,x", "x")),
        ("system:10%,20 parsecs", FLOOR.format("system:10%,20 parsecs", "20 parsecs")),
        ("system:10%,1ms!", FLOOR.format("system:10%,1ms!", "1ms!")),
        ("cpu:10%,alone", ALONE.format("cpu:10%,alone")),
    ],
)
def test_a_bad_criterion_is_refused_with_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        criteria.parse([text], METRICS)


def test_an_unknown_metric_names_those_there_are() -> None:
    known = (Metric("calls", "calls", "count", "calls"), *METRICS[:2])
    message = "^--fail-on 'cals:10%': there is no metric 'cals'. There are: calls, real, user.$"
    with pytest.raises(UsageError, match=message):
        criteria.parse(["cals:10%"], known)
    (criterion,) = criteria.parse(["calls:10%"], known)
    assert criterion.metric is known[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("system:10%", "system:10%"),
        ("system:2.5%,20ms,alone", "system:2.5%,0.02 second,alone"),
        ("rss:20%,5MiB", "rss:20%,5.24288e+06 byte"),
        ("cpu:0%", "cpu:0%"),
    ],
)
def test_a_criterion_shows_as_it_would_be_written(text: str, shown: str) -> None:
    assert str(criteria.parse([text], METRICS)[0]) == shown


@pytest.mark.parametrize(
    ("text", "may_move"), [("system:1%", True), ("system:1%,alone", False), ("cpu:1%", False)]
)
def test_only_system_time_may_be_forgiven_for_less_cpu(text: str, may_move: bool) -> None:
    assert criteria.parse([text], METRICS)[0].may_move is may_move
