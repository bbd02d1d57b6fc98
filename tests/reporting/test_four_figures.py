"""Real, user, system and total CPU time: in every view, the same, and none absurd."""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import pytest

from tests.records import make_record, outcome
from tests.reporting.made_up import page_of
from tests.reporting.printing import lines_of
from waitbench.analysis import gate, statistics
from waitbench.analysis.criteria import DEFAULTS
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import ScenarioResults
from waitbench.reporting import gate_formats, html, markdown
from waitbench.reporting.console import print_report, print_tables
from waitbench.reporting.findings import findings, scenario_table, summarize

FOUR = ("real", "user", "system", "cpu")
NAMES = ("partitioned", "partitioned-long-input", "partitioned-heavy-map", "dynamic")
WOBBLE = (1.0, 1.02, 0.98, 1.01, 0.99)


def runs(factor: float, *, rounds: int = 5) -> list[dict[str, float]]:
    """Runs whose costs are of different sizes, so that each can be told from the others."""
    costs = {
        "real": 5.3, "user": 3.1 * factor, "system": 0.47 * factor, "cpu": 3.57 * factor,
        "idle": 1.9 * factor, "wakeups": 1700.0, "latency": 0.0031, "startup": 0.11,
    }  # fmt: skip
    return [
        {BY_NAME[name].key: cost * WOBBLE[number % 5] for name, cost in costs.items()}
        for number in range(rounds)
    ]


def records(factors: Mapping[str, float]) -> list[ScenarioResults]:
    """Four scenarios, each a little more costly than the one before."""
    return [
        make_record(
            {label: runs(factor * (1 + place / 7)) for label, factor in factors.items()},
            scenario=name,
        )
        for place, name in enumerate(NAMES)
    ]


def unmeasured() -> list[ScenarioResults]:
    """Every run of the candidate failed."""
    made = make_record({"old": runs(1.0), "new": []}, scenario="partitioned")
    for number in range(3):
        made.add(outcome("new", number, "failed", message="exit code 1"))
    return [made]


CASES: Mapping[str, Callable[[], list[ScenarioResults]]] = {
    "two revisions": lambda: records({"old": 1.0, "new": 0.1}),
    "six revisions": lambda: records({f"v{number}": 1.0 + number for number in range(6)}),
    "nothing changed": lambda: records({"old": 1.0, "new": 1.001}),
    "none measured": unmeasured,
    "one revision": lambda: records({"only": 1.0}),
    "near zero": lambda: records({"old": 1e-5, "new": 2e-4}),
    "a thousand times more": lambda: records({"old": 0.01, "new": 10.0}),
    "a thousand times less": lambda: records({"old": 10.0, "new": 0.01}),
}


def screen(compared: Sequence[statistics.Comparison], width: int = 80) -> str:
    return "\n".join(lines_of(lambda to: print_report(summarize(findings(compared)), to), width))


def in_markdown(compared: Sequence[statistics.Comparison]) -> str:
    known = findings(compared)
    tables = [scenario_table(findings([it]), it.record.scenario) for it in compared]
    summary = markdown.render_report(summarize(known))
    return "\n".join([summary, *map(markdown.render_table, tables)])


def in_gate(compared: Sequence[statistics.Comparison]) -> str:
    """Both forms of a gate's answer."""
    verdict = gate.conclude([it.record for it in compared], DEFAULTS)
    known = findings(compared, verdict)
    lines = lines_of(lambda to: print_report(summarize(known), to), 120)
    tables = [scenario_table(known, it.record.scenario) for it in compared]
    return "\n".join(
        [
            *lines,
            gate_formats.render_markdown(known),
            *lines_of(lambda to: print_tables(tables, to), 120),
        ]
    )


def on_page(compared: Sequence[statistics.Comparison]) -> str:
    shown = html.render(page_of(*(it.record for it in compared)))
    return re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", shown, flags=re.DOTALL)


VIEWS = {"screen": screen, "markdown": in_markdown, "gate": in_gate, "page": on_page}
NUMBER = re.compile(r"(−?)(\d[\d,]*\.?\d*|\.\d+)(?:\s?(ms|µs|s)\b)?")
SIZES = {"ms": 1e-3, "µs": 1e-6, "s": 1.0, "": 1.0}


def numbers(text: str) -> list[float]:
    """All numbers, those with a unit of time in seconds."""
    return [float(it[2].replace(",", "")) * SIZES[it[3] or ""] for it in NUMBER.finditer(text)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", CASES)
def test_every_view_has_the_four_figures(case: str, view: str) -> None:
    compared = [statistics.compare(record) for record in CASES[case]()]
    shown = numbers(VIEWS[view](compared))
    for comparison in compared:
        for label in comparison.figures:
            for name in FOUR:
                values = [run.metrics[BY_NAME[name].key] for run in comparison.record.of(label)]
                if not values:
                    continue
                mean = fmean(values)
                near = min(shown, key=lambda number: abs(number - mean))
                # Three digits, or a thousandth beside figures of seconds.
                assert near == pytest.approx(mean, rel=0.006, abs=6e-4), (label, name)


def test_the_screen_has_real_user_system_and_total_cpu_in_this_order() -> None:
    compared = [statistics.compare(record) for record in records({"old": 1.0, "new": 0.1})]
    rows = [numbers(line) for line in screen(compared).splitlines() if "partitioned " in line]
    (row,) = (row for row in rows if len(row) >= 2 * len(FOUR))
    keys = [BY_NAME[name].key for name in FOUR]
    old, new = (compared[0].record.of(label) for label in ("old", "new"))
    means = [fmean(run.metrics[key] for run in side) for key in keys for side in (old, new)]
    assert row[: len(means)] == pytest.approx(means, rel=0.006, abs=6e-4)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", CASES)
def test_no_view_has_an_absurd_figure(case: str, view: str) -> None:
    shown = VIEWS[view]([statistics.compare(record) for record in CASES[case]()])
    assert not re.findall(r"−[\d.,]+\s?(?:s|ms|µs|MiB)\b", shown), "no cost is below zero"
    assert not re.findall(r"> 1M|\d[kMG]×|\d[kMG] %|∞|\bnan\b|\binf\b", shown)
    assert not re.search(r"\d× (?:less|more) to [−+]", shown), "a range has one unit"


@pytest.mark.parametrize("case", CASES)
def test_the_answer_fits_one_screen(case: str) -> None:
    compared = [statistics.compare(record) for record in CASES[case]()]
    lines = lines_of(lambda to: print_report(summarize(findings(compared)), to), 80)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40 - 4, "beside the links below it"


def test_a_ratio_has_one_estimate_wherever_it_stands() -> None:
    """A skewed cost: its mean, its median and its geometric mean differ."""
    skewed = [1.0, 1.01, 0.99, 4.0, 1.02, 1.03, 3.0, 1.0, 1.04]
    base, candidate = ([{"time_cpu": cost * by} for cost in skewed] for by in (1.0, 2.0))
    record = make_record({"old": base, "new": candidate[::-1]}, scenario="partitioned")
    verdict = gate.conclude([record], DEFAULTS)
    known = findings([statistics.compare(record)], verdict)
    (answer_of_gate,) = (it for it in verdict.judgements if it.metric.name == "cpu")
    (shown,) = (it for it in known.results if it.metric.name == "cpu")
    assert answer_of_gate.ratio is not None
    assert shown.ratio is not None
    assert answer_of_gate.ratio.value == pytest.approx(shown.ratio.value)
    without = findings([statistics.compare(record)])
    (alone,) = (it for it in without.results if it.metric.name == "cpu")
    assert alone.ratio is not None
    assert alone.ratio.value == pytest.approx(answer_of_gate.ratio.value)


def test_a_line_of_each_of_six_revisions_has_the_costs_that_certainly_changed() -> None:
    compared = [statistics.compare(record) for record in CASES["six revisions"]()]
    lines = lines_of(lambda to: print_report(summarize(findings(compared)), to), 400)
    line = next(it for it in lines if "v3:" in it)
    assert "total CPU more in all 4" in line
    assert "real time within" in line
    assert "system time more in all 4" in line
    assert "unclear" not in line
