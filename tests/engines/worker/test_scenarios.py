"""The scenario of a worker file, its services, and the metrics that it writes itself."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engines.worker.reading import read
from tests.records import context
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.judging import make_questions
from waitbench.engines import selection
from waitbench.engines.base import Service
from waitbench.engines.worker import metrics, services_of, worker_config
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.model.errors import UsageError
from waitbench.model.launch import Site
from waitbench.model.record import ScenarioResults
from waitbench.model.worker import MetricTable, WorkerFile

PYTHON = Path("/env/python")


def services(worker: WorkerFile, *settings: str) -> Sequence[Service]:
    """Those of its only scenario."""
    (scenario,) = selection.select((), settings, worker=worker)
    return services_of(worker, scenario.parameters, PYTHON)


def test_a_gate_asks_for_memory_and_cpu_after_start_up_and_not_for_what_is_ours_or_chance(
    tmp_path: Path,
) -> None:
    text = "command = '{revision}'\nready = { log = 'up' }\n[poke]\ncommand = 'true'\n"
    (scenario,) = scenarios_of(read(tmp_path, text))
    record = ScenarioResults(spec=scenario, context=context(["a", "b"]))
    names_asked = {it.criterion.metric.name for it in make_questions([record], DEFAULTS)}
    assert {"memory", "stop", "cpu", "idle", "startup", "latency-p50", "foreign-cpu"} <= names_asked
    # The peak of one process may be our launcher's, and there is one lateness in a run.
    assert names_asked.isdisjoint({"rss", "shutdown", "latency"})


SERVICE_QUESTIONS = {"service-cpu", "service-requests"}
COUNTED = "[services.other]\ncommand = 'serve {port}'\ncounters = 'count {port}'\n"


@pytest.mark.parametrize(
    ("tables", "names_asked", "reason"),
    [
        ("", set(), None),
        (COUNTED, SERVICE_QUESTIONS, None),
        (f"[[phase]]\nname = 'gone'\nstop = 'other'\n{COUNTED}", {"service-cpu"}, "is stopped"),
    ],
    ids=["no service", "counted", "stopped"],
)
def test_a_gate_asks_for_the_work_of_services_where_there_are_any(
    tables: str, names_asked: set[str], reason: str | None, tmp_path: Path
) -> None:
    scenario = scenarios_of(read(tmp_path, f"command = '{{revision}}'\n{tables}"))[-1]
    record = ScenarioResults(spec=scenario, context=context(["a", "b"]))
    questions = {it.criterion.metric.name for it in make_questions([record], DEFAULTS)}
    assert questions & SERVICE_QUESTIONS == names_asked
    assert (reason or "") in scenario.lacks.get("service_requests", "")
    assert ("service_requests" in scenario.lacks) == (reason is not None)


def test_parameters_fill_the_commands_of_services_with_what_the_scenario_has(
    tmp_path: Path,
) -> None:
    worker = read(
        tmp_path,
        "command = '{revision} {jobs}'\n[parameters]\njobs = 4\nname = 'a'\n"
        "[services.model]\ncommand = 'serve {jobs} {name}'\n"
        "[services.proxy]\ncommand = 'proxy {port} {model.port}'\n",
    )
    config = worker_config(worker, worker.parameters, PYTHON, "ours")
    assert config.values == {"jobs": "4", "name": "a"}
    assert config.site._replace(prefix="") == Site(
        python=str(PYTHON), here=str(tmp_path), revision="ours"
    )
    for settings, jobs in (((), "4"), (("jobs=8",), "8")):
        model, proxy = services(worker, *settings)
        assert model.configure(1001, Path("/model")).command == ["serve", jobs, "a"]
        assert proxy.configure(1002, Path("/proxy")).command == ["proxy", "1002", "1001"]
    with pytest.raises(UsageError, match=r"There are: jobs, name, window\."):
        services(worker, "other=1")


SCENARIOS = """
command = "{revision} {size} {mode}"
parameters = { size = 10, mode = "a" }
[scenarios.small]
size = 1
[scenarios.large]
size = 100
mode = "b"
"""


def test_scenarios_are_named_sets_of_parameters_over_the_defaults(tmp_path: Path) -> None:
    worker = read(tmp_path, SCENARIOS)

    def sizes(*patterns: str, settings: tuple[str, ...] = ()) -> dict[str, object]:
        chosen = selection.select(patterns, settings, worker=worker)
        return {it.name: it.parameters["size"] for it in chosen}

    assert sizes() == {"mine-small": 1, "mine-large": 100}
    assert sizes("small") == sizes("mine-s*") == {"mine-small": 1}
    assert sizes("*l*", settings=("size=7",)) == {"mine-small": 7, "mine-large": 7}
    modes = [it.parameters["mode"] for it in selection.select((), (), worker=worker)]
    assert modes == ["a", "b"]
    with pytest.raises(
        UsageError, match=r"--scenario 'x' matches no scenario\. There are: small, large\."
    ):
        sizes("x")


@pytest.mark.parametrize(
    ("window", "settings", "window_s"),
    [("window = 30\n", (), 30.0), ("", (), 10.0), ("", ("window=3",), 3.0)],
)
def test_a_window_of_the_file_holds_and_a_setting_replaces_it(
    window: str, settings: tuple[str, ...], window_s: float, tmp_path: Path
) -> None:
    worker = read(tmp_path, f"command = '{{revision}}'\n{window}")
    for quick in (True, False):
        (scenario,) = selection.select((), settings, worker=worker, quick=quick)
        assert scenario.parameters["window"] == window_s
    assert scenario.for_warm_up().parameters["window"] == 1.0
    assert scenario.with_least_window(99.0).parameters["window"] == 99.0
    assert worker_config(worker, scenario.parameters, PYTHON).window_s == window_s


def test_what_ends_by_itself_works_and_has_nothing_of_what_waiting_costs(tmp_path: Path) -> None:
    text = "command = '{revision} {metrics}'\n[metrics.call-time]\nshow = ['p99']\n"
    (waiting,) = scenarios_of(read(tmp_path, text))
    (working,) = scenarios_of(read(tmp_path, f"window = 'until-exit'\n{text}"))
    assert (waiting.waits, waiting.works) == (True, False)
    assert (working.waits, working.works) == (False, True)
    assert "window" not in working.parameters
    names = [{it.name for it in scenario.metrics} for scenario in (waiting, working)]
    of_waiting = {"idle", "wakeups", "syscalls", "memory", "stop"}
    assert of_waiting <= names[0]
    assert not of_waiting & names[1]
    assert {"cpu", "window", "cpu-window"} <= names[1]
    assert all("call-time-p99" in it for it in names)


TIMES = {"call-time": MetricTable(unit="s", show=("mean", "p25", "p50", "p99", "min", "max"))}


def read_values(
    tmp_path: Path, text: str, files: dict[str, MetricTable] = TIMES
) -> dict[str, float]:
    path = tmp_path / "metrics-0.jsonl"
    path.write_text(text)
    return dict(metrics.read_written([path], files))


def test_numbers_and_lists_of_numbers_of_all_copies_make_each_statistic(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("metrics-0.jsonl", "metrics-1.jsonl")]
    paths[0].write_text('{"call-time": 1}\n{"call-time": [2, 3.0]}\n')
    paths[1].write_text('{"call-time": [4, 5]}\n')
    read = metrics.read_written(paths, TIMES)
    assert read == {
        "own_call_time_mean": 3.0,
        "own_call_time_p25": 2.0,
        "own_call_time_p50": 3.0,
        "own_call_time_p99": pytest.approx(4.96),
        "own_call_time_min": 1.0,
        "own_call_time_max": 5.0,
    }


def test_a_line_may_hold_several_names(tmp_path: Path) -> None:
    files = {"sent": MetricTable(unit="B", show=("total", "count")), "dropped": MetricTable()}
    text = '{"sent": [100, 20], "dropped": 7}\n'
    assert read_values(tmp_path, text, files) == {
        "own_sent_total": 120.0, "own_sent_count": 2, "own_dropped": 7.0,
    }  # fmt: skip
    # Totals and counts may be of nothing.
    nothing = read_values(tmp_path, '{"sent": [], "dropped": 7}\n', files)
    assert (nothing["own_sent_total"], nothing["own_sent_count"]) == (0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it wrote no call-time to {metrics}"),
        ('{"call-time": 1', "line 1 of {metrics} is not a JSON object"),
        (
            '{"call-time": 1}\n[1]\n',
            "line 2 of {metrics} is not a JSON object of numbers and lists of numbers: '[1]'",
        ),
        ('{"other": 1}\n', "has 'other', which is not one of the [metrics]: call-time"),
        ('{"call-time": "1"}\n', "line 1 of {metrics} is not a JSON object"),
        ('{"call-time": [1, null]}\n', "of numbers and lists of numbers"),
        ('{"call-time": NaN}\n', "of numbers and lists of numbers"),
        ('{"call-time": [1e300]}\n', "of numbers and lists of numbers"),
        ('{"call-time": []}\n', "it wrote no numbers of call-time to {metrics}"),
        ("[" * 100_000, "line 1 of {metrics} is not a JSON object"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "is not a JSON object"),
    ],
)
def test_what_is_damaged_is_no_number(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as raised:
        read_values(tmp_path, text)
    assert expected in str(raised.value)


def test_a_file_that_was_not_written_and_several_numbers_to_show_are_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"it did not write the file \{metrics\}"):
        metrics.read_written([tmp_path / "metrics-0.jsonl"], TIMES)
    with pytest.raises(ValueError, match=r"it wrote 2 numbers of dropped to \{metrics\}"):
        read_values(tmp_path, '{"dropped": 1}\n{"dropped": 2}\n', {"dropped": MetricTable()})


def test_the_seconds_until_a_worker_counts_as_ready_are_in_its_time_limit(tmp_path: Path) -> None:
    text = "command = '{revision}'\nready = { seconds = 300 }\n"
    (scenario,) = scenarios_of(read(tmp_path, text))
    assert scenario.expected_s > 300
    assert scenario.time_limit_s > 330


def test_a_statistic_beyond_what_a_result_file_may_hold_is_refused(tmp_path: Path) -> None:
    files = {"bytes": MetricTable(show=("total",))}
    (tmp_path / "metrics").write_text('{"bytes": [9e14, 9e14]}\n')
    with pytest.raises(ValueError, match=r"bytes-total in {metrics} is beyond 1e\+15"):
        metrics.read_written([tmp_path / "metrics"], files)


def test_a_rate_makes_one_more_scenario_that_can_be_set_and_takes_turns(tmp_path: Path) -> None:
    worker = read(tmp_path, "command = '{revision}'\n[poke]\ncommand = 'true'\nrate = 2\n")
    idle, at_rate = scenarios_of(worker)
    assert (idle.name, at_rate.name) == ("mine", "mine-at-rate")
    assert (idle.is_mostly_idle, at_rate.is_mostly_idle) == (True, False)
    assert "rate" not in idle.settable
    assert at_rate.time_limit_s > idle.time_limit_s + 8 * at_rate.window_s, "slow is not hung"
    chosen = selection.select((), ("rate=4.5",), worker=worker)
    rates = [worker_config(worker, it.parameters, PYTHON).rate for it in chosen]
    assert rates == [0.0, 4.5]
    with pytest.raises(UsageError, match=r"poke\.rate: does not go with \[scenarios\.NAME\]"):
        read(tmp_path, "command = '{revision}'\n[poke]\ncommand = 'true'\nrate = 2\n[scenarios.a]")


def test_a_gate_asks_for_p99_of_lateness_where_messages_come_at_a_rate(tmp_path: Path) -> None:
    worker = read(tmp_path, "command = '{revision}'\n[poke]\ncommand = 'true'\nrate = 10\n")
    records = [ScenarioResults(spec=it, context=context(["a", "b"])) for it in scenarios_of(worker)]
    questions = make_questions(records, DEFAULTS)
    scenarios = {it.criterion.metric.name: it.scenarios for it in questions}
    assert scenarios["latency"] == ("mine-at-rate",)
    assert scenarios["latency-p50"] == ("mine", "mine-at-rate")


def test_a_negative_figure_is_refused_as_no_ratio_is_possible(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"its dropped in \{metrics\} is negative"):
        read_values(tmp_path, '{"dropped": -1}\n', {"dropped": MetricTable()})
