"""How a report begins and ends: its tables on a console, and what is best done next."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from tests.criteria import parse
from tests.gate_runs import failing, unclear
from tests.records import Runs, make_record, measurement, specify, times, waits
from tests.reporting.printing import lines_of
from waitbench.analysis import gate, statistics
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.results import Note
from waitbench.model.metrics import BY_NAME, MEMORY, METRICS, SERVICES, STOP, WINDOW, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import CONCURRENT
from waitbench.reporting import forest, notes
from waitbench.reporting.console import print_report
from waitbench.reporting.document import Contribution, Report, text_of
from waitbench.reporting.findings import Findings, findings, next_step, summarize

ARGV = ("compare", "old", "new", "--rounds", "3", "-p", "2")


def findings_of(*records: ScenarioResults, verdict: GateVerdict | None = None) -> Findings:
    explains = Contribution(explains=("--explain", "which thread wakes up"))
    compared = [statistics.compare(record) for record in records]
    return findings(compared, verdict, contributions=[explains])


def shown(summary: Report, width: int = 80) -> list[str]:
    return lines_of(lambda console: print_report(summary, console), width)


def test_a_command_is_one_line_however_long_so_that_it_can_be_copied() -> None:
    command = " ".join(["./compare.sh", *(f"--option-{number}" for number in range(12))])
    lines = shown(Report(title="a", facts=("b",), links=(("Next", command), ("Results", "here"))))
    assert lines[-2:] == [f"Next     {command}", "Results  here"]


ONCE = waits(0.1)[:1]
EXPLAIN = "--explain: which thread wakes up"


def _called(old: Runs, new: Runs, argv: tuple[str, ...]) -> ScenarioResults:
    record = make_record({"old": old, "new": new})
    record.context = structs.replace(record.context, argv=argv)
    return record


@pytest.mark.parametrize(
    ("old", "new", "verdict", "argv", "step"),
    [
        (
            waits(2),
            waits(0.1),
            None,
            ARGV,
            "--gate: exit code 1 if the candidate costs more, for CI",
        ),
        (waits(2), waits(4.0), None, ARGV, EXPLAIN),
        (waits(2)[:1], ONCE, None, ARGV, "--rounds 5: more rounds detect smaller changes"),
        (waits(2), waits(4), failing(), ARGV, EXPLAIN),
        (waits(2), waits(4), unclear(), ARGV, "--full: longer runs detect smaller changes"),
        (waits(2), waits(4), unclear(), (*ARGV, "--full"), ""),
        (waits(2), waits(4), None, ("workers", "rq.toml"), ""),
        (waits(2), [], None, ARGV, ""),
    ],
)
def test_what_is_best_done_next_depends_on_what_was_found(
    old: Runs, new: Runs, verdict: GateVerdict | None, argv: tuple[str, ...], step: str
) -> None:
    assert next_step(findings_of(_called(old, new, argv), verdict=verdict)) == step


@pytest.mark.parametrize(
    ("parameters", "metrics", "option"),
    [
        ({"window": 4.0}, (STOP,), "--set window=30"),
        ({"window": 60.0}, (STOP,), "--set window=120"),
        ({}, (Metric("window", WINDOW, "second", "after ready"),), ""),
    ],
)
def test_longer_windows_are_proposed_where_there_are_windows(
    parameters: dict[str, float], metrics: tuple[Metric, ...], option: str
) -> None:
    record = _called(waits(2), waits(4), ARGV)
    specify(record, parameters=parameters, metrics=(*METRICS, *metrics))
    step = next_step(findings_of(record, verdict=unclear()))
    assert step == (f"{option}: longer runs detect smaller changes" if option else "")


def test_longer_windows_are_not_proposed_for_what_a_run_has_once() -> None:
    record, verdict = _called(waits(2), waits(4), ARGV), unclear()
    specify(record, parameters={"window": 4.0}, metrics=(*METRICS, STOP))
    late = [replace(it, metric=BY_NAME["latency-p50"]) for it in verdict.judgements]
    assert not next_step(findings_of(record, verdict=replace(verdict, judgements=tuple(late))))


def test_more_rounds_are_not_proposed_between_equal_builds() -> None:
    compared = findings_of(_called(waits(2)[:1], ONCE, ARGV))
    same = Note(kind=notes.SAME_BUILD, level="!", text="new is the same build as old")
    assert next_step(replace(compared, notes=[*compared.notes, same])) == ""


def test_only_what_the_baseline_has_figures_of_can_be_missed() -> None:
    neither = findings_of(make_record({"old": [], "new": []}))
    lost = findings_of(make_record({"old": waits(2), "new": []}))
    assert {forest.mark_of(it) for it in neither.results if it.judged} == {"–"}
    assert {forest.mark_of(it) for it in lost.results if it.judged} == {"✗"}


@pytest.mark.parametrize("idle", [1.0, 1.5])
def test_a_gate_shows_what_services_did_whatever_else_it_comes_to(idle: float) -> None:
    services = {metric.key: 10.0 for metric in SERVICES}
    runs = [{**times(1, 1, 0), "time_cpu_idle": 1.0 + number / 100} for number in range(18)]
    sides = {"old": runs, "new": [{**run, "time_cpu_idle": idle} for run in runs]}
    record = make_record(
        {label: [{**it, **services} for it in runs] for label, runs in sides.items()}
    )
    specify(record, metrics=(*METRICS, *SERVICES))
    verdict = gate.conclude([record], DEFAULTS)
    assert bool(verdict.failures) == (idle > 1)
    table = "\n".join(shown(summarize(findings_of(record, verdict=verdict))))
    assert "✓ the services' CPU" in table
    assert "✓ requests to the services" in table


def test_a_worker_has_the_four_figures_before_the_costs_of_waiting_and_the_gate() -> None:
    runs = [{**times(1, 1, 0), "time_cpu_idle": 1.0, "memory_proportional": 1e8} for _ in range(9)]
    record = make_record({"old": runs, "new": [{**run, "time_cpu_idle": 9.0} for run in runs]})
    specify(record, metrics=(*METRICS, MEMORY))
    criteria = parse(["idle:10%"], METRICS)
    tables = summarize(findings_of(record, verdict=gate.conclude([record], criteria))).tables
    of_runs, of_waiting, of_gate = tables
    groups = [heading.group for heading in of_runs.headings if heading.group]
    assert [*dict.fromkeys(groups)] == ["real", "user", "system", "total CPU"]
    groups = [heading.group for heading in of_waiting.headings if heading.group]
    assert [*dict.fromkeys(groups)] == ["idle CPU, s", "memory, MiB"]
    assert text_of(of_waiting.rows[0][2]) == "9.00▲"
    assert [text_of(row[0]) for row in of_gate.rows] == ["✗ idle CPU"]
    assert len(summarize(findings_of(record)).tables) == 2


def watched(*windows: float, scenario: str = "idle") -> ScenarioResults:
    """A worker that waits, and how long each of its runs was watched."""
    runs = [{**times(12, 1, 1), "time_window": window_s} for window_s in windows]
    record = make_record({"old": runs, "new": runs}, scenario=scenario)
    specify(record, metrics=(*METRICS, STOP))
    return record


@pytest.mark.parametrize(
    ("records", "basis"),
    [
        ([watched(10.0002, 9.9998, 10.3)], "1 process, 3 rounds, 10 s windows"),
        ([watched(0.3001)], "1 process, 1 round, 0.3 s windows"),
        ([watched(20.0), watched(4.0, scenario="phase")], "1 process, 1 round, 4–20 s windows"),
        ([watched()], "1 process, no rounds"),
        # The input of a dataflow ends by itself.
        ([specify(watched(10.0), metrics=METRICS)], "1 process, 1 round"),
    ],
)
def test_the_first_line_says_how_long_workers_were_watched(
    records: Sequence[ScenarioResults], basis: str
) -> None:
    assert findings_of(*records).basis.removesuffix(", mean seconds") == basis


@pytest.mark.parametrize(("alone_s", "is_understated"), [(1.4, True), (0.7, False)])
def test_the_size_of_what_spins_is_said_as_a_bound_beside_the_figures_of_a_run_by_itself(
    alone_s: float, is_understated: bool
) -> None:
    """At once it lacks CPUs: eight copies have half a core each."""
    record = make_record({"old": [], "new": []})
    for number in range(1, 17):
        marks, spins_s = ((), alone_s) if number == 1 else ((CONCURRENT,), 0.7)
        for label, idle_s in (("old", 0.01), ("new", spins_s * (1 + 0.001 * number))):
            run = measurement(label, number, {**times(5, 1, 1), "time_cpu_idle": idle_s})
            record.add(structs.replace(run, marks=marks))
    compared = findings_of(record, verdict=gate.conclude([record], parse(["idle:10%"], METRICS)))
    (question,) = compared.judgements
    assert forest.change_of(question) == ("at least 71× more" if is_understated else "70× more")
    assert f"idle CPU {forest.change_of(question)} in" in compared.distinct_notes[0].text
    (figure,) = (it for it in compared.results if it.metric.name == "idle")
    assert figure.after is not None
    assert figure.after.value == pytest.approx(alone_s, rel=0.02)
    assert figure.after.count == (1 if is_understated else 16)


def test_a_gate_of_two_candidates_names_the_one_that_failed() -> None:
    runs = [{**times(1, 1, 0), "time_cpu_idle": 1.0} for _ in range(9)]
    risen = [{**run, "time_cpu_idle": 9.0} for run in runs]
    record = make_record({"main": runs, "fine": runs, "worse": risen})
    verdict = gate.conclude([record], parse(["idle:10%"], METRICS))
    table = summarize(findings_of(record, verdict=verdict)).tables[-1]
    assert "worse: waiting" in "\n".join(shown(Report(title="t", facts=(), tables=[table])))


def test_baselines_of_tables_and_bars_are_over_the_same_rounds() -> None:
    """One candidate lacks the rounds in which the baseline cost most."""
    costs = [{"time_cpu": cost} for cost in (1.0, 1.0, 1.0, 9.0, 9.0)]
    record = make_record({"main": costs, "a": costs, "b": costs[:3]})
    compared = statistics.compare(record)
    (*_, table) = forest.first_screen(("main", "a", "b"), compared.results)
    mean = compared.cost("main", "cpu")
    assert mean is not None
    assert text_of(table.rows[0][1]).strip() == f"{mean.value:.2f}"


@pytest.mark.parametrize(
    "labels",
    [
        ("main", "fix/queue-wait", "fix/sched-wait"),
        ("main", "worker-1.2-linux-amd64", "worker-1.3-linux-amd64"),
    ],
)
def test_columns_of_labels_that_shorten_alike_can_be_told_apart(labels: tuple[str, ...]) -> None:
    record = make_record({label: [{"time_cpu": 1.0}] * 3 for label in labels})
    (*_, table) = forest.first_screen(labels, statistics.compare(record).results)
    assert len({heading.text for heading in table.headings}) == 4
