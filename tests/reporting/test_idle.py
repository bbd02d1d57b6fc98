"""What waiting costs in plain units: the same figures in every output, and money only if asked."""

import json
import re

import pytest
from msgspec.structs import replace

from tests.records import make_record, times
from tests.reporting.made_up import page_of
from tests.reporting.printing import lines_of_table
from waitbench.analysis import statistics
from waitbench.analysis.idle import HOURS_A_MONTH, idle_costs
from waitbench.engines.worker.metrics import metrics_of_service
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.reporting import html, idle, markdown, notes
from waitbench.reporting.idle import Price

WINDOW_S, STEADY_S = 4.0, {"v1": 0.0561, "v2": 0.0036}
PRICE = Price.parse("$0.04/core-hour")


def runs(label: str, **more: float) -> list[dict[str, float]]:
    steady_s = STEADY_S[label]
    known = {
        "time_cpu_steady": steady_s, "cpu_share_steady": steady_s / WINDOW_S, "wakeups": 4000.0,
        "memory_peak_resident": 20 * 2**20, "items_in": 0.0, **more,
    }  # fmt: skip
    return [{**times(5, 0.1, 0.1), **known}] * 3


def record(**more: float) -> Record:
    return make_record({label: runs(label, **more) for label in STEADY_S}, scenario="idle")


def expected(label: str) -> float:
    return STEADY_S[label] / WINDOW_S * HOURS_A_MONTH


@pytest.mark.parametrize("price", [None, PRICE])
def test_core_hours_agree_with_steady_cpu_in_every_output(price: Price | None) -> None:
    found = record()
    compared = statistics.compare(found)
    (table,) = idle.tables([compared], price)
    console = lines_of_table(table, 120)
    rendered = markdown.render_table(table)
    page = re.sub(r"<[^>]+>", " ", html.render(page_of(found, price=price)))
    plain = [idle.plain(cost, price) for cost in idle_costs([compared])]
    for label, data in zip(STEADY_S, json.loads(json.dumps(plain)), strict=True):
        hours = expected(label)
        written = f"{hours:.3g}"
        assert data["core_hours_a_month"] == pytest.approx(hours)
        again = STEADY_S[label] / data["window_s"] * HOURS_A_MONTH
        assert data["core_hours_a_month"] == pytest.approx(again)
        (row,) = (line for line in console if line.startswith(label))
        assert written in row.split()
        (row,) = (line for line in rendered.splitlines() if line.startswith(f"| {label}"))
        assert f"| {written} |" in row
        assert f" {written} " in page
        assert ("money_a_month" in data) is (price is not None)
    for text in ("\n".join(console), rendered, page):
        assert ("money a month" in text or "money/" in text) is (price is not None)


@pytest.mark.parametrize(
    "text", ["0.04", "0/core-hour", "-1/core-hour", "/core-hour", "0.04/hour", "1e9/core-hour", ""]
)
def test_what_is_no_price_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not AMOUNT/core-hour, such as 0\.04/core-hour"):
        Price.parse(text)


def of_services(*services: str) -> Record:
    both = {
        label: runs(
            label,
            **{f"service_requests_{name}": 40.0 + len(name) for name in services},
            **{f"service_bytes_{name}": 4000.0 for name in services},
            **{f"service_cpu_steady_{name}": 0.02 for name in services},
        )
        for label in STEADY_S
    }
    found = make_record(both, scenario="idle")
    found.metrics = (
        *METRICS, *(one for name in services for one in metrics_of_service(name, counts=True)),
    )  # fmt: skip
    return found


def test_each_service_has_columns_of_its_own_in_every_output() -> None:
    found = of_services("redis", "rabbit")
    compared = statistics.compare(found)
    (table,) = idle.tables([compared])
    page = html.render(page_of(found))
    plain = json.loads(json.dumps(idle.plain(idle_costs([compared])[0])))
    assert plain["services"] == {
        name: {
            "cores": 0.005,
            "requests_a_second": (40 + len(name)) / WINDOW_S,
            "bytes_a_second": 1000.0,
        }
        for name in ("redis", "rabbit")
    }
    for name, requests in (("redis", "11.2"), ("rabbit", "11.5")):
        for shown in (markdown.render_table(table), page):
            assert f"requests/s to {name}" in shown
            assert f"bytes/s to and from {name}" in shown
            assert requests in shown
    assert max(map(len, lines_of_table(table))) <= 80


def test_a_window_that_is_too_short_is_a_warning_and_in_plain_data() -> None:
    halves = ({"time_s": 2.5, "wakeups": 8.0}, {"time_s": 5.0, "wakeups": 24.0})
    found = record()
    found.measurements = [replace(run, samples=halves) for run in found.of("v1")] + found.of("v2")
    compared = statistics.compare(found)
    warned = [note.text for note in notes.cautions([compared])]
    assert "v1: window too short: its halves differ in wake-ups. Set a longer window" in warned
    first, second = map(idle.plain, idle_costs([compared]))
    assert first["window_is_short"]
    assert "window_is_short" not in second


def test_work_is_no_waiting_and_without_a_steady_phase_nobody_knows() -> None:
    working = record()
    working.works = True
    busy = make_record({label: runs(label) for label in STEADY_S}, waits=False)
    for one in (working, busy, make_record({"a": [times(1, 1, 1)]})):
        assert idle.tables([statistics.compare(one)]) == []
