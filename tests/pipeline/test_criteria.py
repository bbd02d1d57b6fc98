"""Criteria as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.criteria import parse
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, Metric


@pytest.mark.parametrize(
    ("text", "name", "margin", "allowance"),
    [
        ("system:10%", "system", 0.10, 0.0),
        (" real:5% ", "real", 0.05, 0.0),
        ("idle:0.07%", "idle", 0.0007, 0.0),
        ("cpu:0%", "cpu", 0.0, 0.0),
        ("wakeups:5%,alone", "wakeups", 0.05, 0.0),
        ("cpu:10%,1500ms,each", "cpu", 0.10, 1.5),
        ("system:2.5%,1500.5ms,alone", "system", 0.025, 1.5005),
        ("startup:1%,0.007ms", "startup", 0.01, 7e-6),
        ("polls:1%,1234567", "polls", 0.01, 1234567.0),
        ("rss:20%,0.25MiB", "rss", 0.20, 2**18),
    ],
)
def test_a_criterion_is_read_and_shows_as_it_is_written(
    text: str, name: str, margin: float, allowance: float
) -> None:
    (criterion,) = parse([text], METRICS)
    assert criterion.metric.name == name
    assert (criterion.margin, criterion.allowance) == pytest.approx((margin, allowance))
    assert (criterion.alone, criterion.each) == ("alone" in text, "each" in text)
    assert str(criterion) == text.strip()


FORM = "{} is not METRIC:PERCENT%[,ALLOWANCE][,alone][,each], such as idle:10%, or "
ALONE = "{}: 'alone' is for components of a cost, such as wakeups, and cpu is not one."
UNIT = "{}: an allowance for {} is written as {}."
MALFORMED = (
    *("", "system", "system:", "system:10", "10%", ":10%", "system:10%%", "SYSTEM:10%"),
    *("system:-5%", "system:nan%", "system:x%", "system:10000%", "system:10%,x", "system:10%,"),
    *("system:10%,20 parsecs", "system:10%,1ms!", "cpu:10%,5ms,20ms", "cpu:10%,20%"),
    *("cpu:\u0663%", f"system:10%,{'9' * 400}ms"),  # another script's 3; infinite as a float
    *("cpu:10%,each,each", "wakeups:5%,each,alone", "system:10%,alone,20ms"),
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, FORM) for text in MALFORMED),
        ("system:10%,20s", UNIT.format("{}", "system", "20ms")),
        ("rss:10%,5ms", UNIT.format("{}", "rss", "20MiB")),
        ("polls:10%,5ms", UNIT.format("{}", "polls", "20")),
        ("cpu:10%,alone", ALONE),
    ],
)
def test_a_bad_criterion_is_refused_with_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse([text], METRICS)
    assert str(raised.value).startswith(f"--fail-on {message.format(repr(text))}")


def test_an_unknown_metric_names_those_there_are() -> None:
    known = (Metric("calls", "calls", "count", "calls"), *METRICS[:2])
    message = "^--fail-on 'cals:10%': there is no metric 'cals' .did you mean 'calls'...$"
    with pytest.raises(UsageError, match=message):
        parse(["cals:10%"], known)
    (criterion,) = parse(["calls:10%"], known)
    assert criterion.metric is known[0]


PERCENT = some.from_regex(r"\A\d{1,4}(\.\d{1,9})?\Z", alphabet="0123456789.")
ALLOWANCE = some.from_regex(r"\A\d{1,9}(\.\d{1,6})?\Z", alphabet="0123456789.")


@given(
    some.sampled_from([("idle", "ms", ""), ("rss", "MiB", ""), ("wakeups", "", ",alone")]),
    PERCENT,
    some.none() | ALLOWANCE,
    some.booleans(),
)
def test_whatever_is_read_is_read_again_as_it_is_shown(
    kind: tuple[str, str, str], percent: str, allowance: str | None, each: bool
) -> None:
    """A user may copy a criterion from a report."""
    name, unit, alone = kind
    allowed = "" if allowance is None else f",{allowance}{unit}"
    (criterion,) = parse([f"{name}:{percent}%{allowed}{alone}{',each' * each}"], METRICS)
    assert parse([str(criterion)], METRICS) == (criterion,)
