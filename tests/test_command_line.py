"""The command line as a user meets it: bad input, failing runs, interruption, resuming."""

import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.conftest import Compare
from waitbench.system.places import ROOT


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "runs.csv").open() as file:
        return list(csv.DictReader(file))


def orphans() -> list[int]:
    """Processes of runs whose harness is gone: each run's folder, and so its environment, names the harness's pid."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            folder = process.environ().get("BENCH_PROBE_DIR")
            if folder and process.status() != psutil.STATUS_ZOMBIE and not psutil.pid_exists(int(Path(folder).parent.name)):
                found.append(process.pid)
    return found


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "No revision given"),
        (["--rounds", "0", "v0.16.0"], "--rounds 0"),
        (["--rounds", "-3", "v0.16.0"], "--rounds -3"),
        (["--rounds", "x", "v0.16.0"], "--rounds"),
        (["--processes", "0", "v0.16.0"], "--processes 0"),
        (["--processes", "2", "--topology", "single", "v0.16.0"], "one process"),
        (["--topology", "ring", "v0.16.0"], "--topology 'ring'"),
        (["--time-limit", "0", "v0.16.0"], "--time-limit 0"),
        (["--scenario", "nothing", "v0.16.0"], "matches none of"),
        (["--set", "partitions=0", "v0.16.0"], "--set partitions=0"),
        (["--python", "2.4", "v0.16.0"], "no such CPython"),
        (["--origin", "moon", "v0.16.0"], "moon"),
        (["--no-such-option", "v0.16.0"], "--no-such-option"),
        (["--repo", "/no/such", "v0.16.0"], "neither a folder nor a URL"),
        (["v0.16.0; touch x"], "is not a revision"),
        (["$(touch x)"], "is not a revision"),
        (["../.."], "is not a bytewax checkout"),
        (["--", "-v"], "starts with a dash"),
        (["v0.16.0", "v0.16.0"], "label them"),
        (["no.whl"], "no wheel file"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_exit_2_and_nothing_created(
    arguments: list[str], says: str, run_compare: Compare, tmp_path: Path
) -> None:
    done = (
        run_compare(*arguments, "--results", tmp_path / "results")
        if "--" not in arguments
        else run_compare("--results", tmp_path / "results", *arguments)
    )
    assert done.returncode == 2, done
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()
    assert not Path("x").exists()


def test_help_shows_examples_and_scenarios_are_listed(run_compare: Compare) -> None:
    done = run_compare("--help")
    assert done.returncode == 0
    assert "./compare.sh v0.16.0 v0.16.1" in done.stdout
    listed = run_compare(command="scenarios")
    assert "partitioned-long-input-heavy-map" in listed.stdout


def test_plot_of_a_folder_without_results_says_what_to_do(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare(tmp_path, command="plot")
    assert (done.returncode, "Measure first" in done.stderr) == (2, True)
    done = run_compare(tmp_path, "--format", "gif", command="plot")
    assert (done.returncode, "gif" in done.stderr) == (2, True)


@pytest.mark.integration
def test_an_a_a_comparison_of_a_wheel_is_measured_tabulated_charted_and_called_identical(
    run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.write_wheel(tmp_path / "w")
    done = run_compare(f"A={wheel}", f"B={wheel}", "--scenario", "partitioned", "--scenario", "dynamic", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results"
    assert sorted(path.name for path in results.iterdir()) == [
        "dynamic.json", "dynamic.png", "overview.png", "partitioned.json", "partitioned.png", "runs.csv",
    ]  # fmt: skip
    assert Counter(row["outcome"] for row in rows(results)) == {"ok": 8}
    order = [(r["round"], r["revision"]) for r in rows(results) if r["scenario"] == "partitioned"]
    assert order == [("1", "B"), ("1", "A"), ("2", "A"), ("2", "B")]
    assert "B against A" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 200


@pytest.mark.integration
def test_json_on_stdout_is_only_json(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.write_wheel(tmp_path / "w")
    done = run_compare(wheel, "--scenario", "dynamic", "--rounds", "1", "--json", "--no-plot")
    (comparison,) = json.loads(done.stdout)
    assert comparison["scenario"] == "dynamic"
    assert "round 1" in done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("behaviour", "reason", "says"),
    [
        ("fail", "failed", "exit code 7"),
        ("lose", "lost-items", "320 items expected, 319 went in"),
        ("double", "lost-items", "not the 320"),
        ("hang", "timed-out", "killed with all its processes"),
        ("leave", "failed", "still running after the dataflow's end"),
    ],
)
def test_a_bad_run_is_an_outcome_exit_3_and_the_other_revision_is_measured(
    behaviour: str, reason: str, says: str, run_compare: Compare, tmp_path: Path
) -> None:
    good, bad = standin.write_wheel(tmp_path / "good"), standin.write_wheel(tmp_path / "bad", behaviour)
    done = run_compare(
        f"good={good}", f"bad={bad}", "--scenario", "partitioned", "--rounds", "3", "--time-limit", "2", "--no-plot"
    )
    assert done.returncode == 3, done
    table = Counter((row["revision"], row["outcome"]) for row in rows(tmp_path / "results"))
    assert table == {("good", "ok"): 3, ("bad", reason): 1 if behaviour == "hang" else 2}
    assert says in done.stdout
    (data,) = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*.json")]
    assert "failing on purpose" in data["outcomes"][0]["log"] or behaviour != "fail"
    assert orphans() == []


@pytest.mark.integration
def test_a_revision_that_cannot_be_imported_is_said_with_its_log_and_the_others_go_on(
    run_compare: Compare, tmp_path: Path
) -> None:
    good, broken = standin.write_wheel(tmp_path / "good"), standin.write_wheel(tmp_path / "broken", "broken")
    done = run_compare(f"good={good}", f"broken={broken}", "--scenario", "dynamic", "--rounds", "1", "--no-plot")
    assert done.returncode == 3
    assert "broken on purpose" in done.stdout
    assert re.search(r"/logs/\S+\.log", done.stdout)
    assert Counter((r["revision"], r["outcome"]) for r in rows(tmp_path / "results")) == {
        ("good", "ok"): 1, ("broken", "not-built"): 1,
    }  # fmt: skip


def start(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "runner.py"), "compare", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_measurements(folder: Path, count: int) -> None:
    """Blocks until that many runs are on disk; fails after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (folder / "dynamic.json").exists():
            data = json.loads((folder / "dynamic.json").read_text())
            if sum(len(result["measurements"]) for result in data["results"]) >= count:
                return
        time.sleep(0.05)
    pytest.fail("no measurements after a minute")


@pytest.mark.integration
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_comparison_keeps_its_runs_leaves_no_process_and_resumes(
    how: signal.Signals, run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.write_wheel(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    arguments = [
        f"A={wheel}",
        f"B={wheel}",
        "--scenario",
        "dynamic",
        "--rounds",
        "4",
        "--no-plot",
        "--results",
        str(results),
    ]
    process = start(arguments)
    wait_for_measurements(results, 3)
    process.send_signal(how)
    assert process.wait(10) == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    gone = time.monotonic() + 5
    while time.monotonic() < gone and orphans():
        time.sleep(0.05)
    assert orphans() == []

    def times(label: str) -> list[float]:
        data = json.loads((results / "dynamic.json").read_text())
        return next((result["times"] for result in data["results"] if result["command"] == label), [])

    kept = times("A") + times("B")
    assert len(kept) >= 3
    done = run_compare(*arguments, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(times("A")) == len(times("B")) == 4
    assert set(kept) <= set(times("A") + times("B"))
    # Distinct ones: on a machine that does something else meanwhile, a disturbed round is repeated.
    measured = set(re.findall(r"round (\d) ([AB])", done.stdout))
    assert len(measured) == 8 - len(kept), "only what was missing"


@pytest.mark.integration
def test_resuming_another_comparison_is_refused_and_a_new_one_loses_nothing(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.write_wheel(tmp_path / "w")
    common = ["--scenario", "dynamic", "--rounds", "1", "--no-plot"]
    assert run_compare(f"A={wheel}", *common).returncode == 0
    before = (tmp_path / "results" / "dynamic.json").read_bytes()
    refused = run_compare(f"other={wheel}", *common, "--resume")
    assert (refused.returncode, "another comparison" in refused.stderr) == (2, True)
    assert (tmp_path / "results" / "dynamic.json").read_bytes() == before
    again = run_compare(f"other={wheel}", *common)
    found = re.search(r"are\s+now\s+in\s+(\S+)", again.stdout)
    assert found is not None
    assert (Path(found[1]) / "dynamic.json").read_bytes() == before


@pytest.mark.integration
def test_two_comparisons_into_one_folder_do_not_mix(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.write_wheel(tmp_path / "w", "sleep 1")
    results = tmp_path / "results"
    first = start([str(wheel), "--scenario", "dynamic", "--rounds", "3", "--no-plot", "--results", str(results)])
    wait_for_measurements(results, 1)
    second = run_compare(wheel, "--scenario", "dynamic", "--rounds", "1", "--no-plot")
    assert (second.returncode, "Another comparison" in second.stderr) == (2, True)
    assert first.wait(30) == 0


def test_an_own_dataflow_is_checked_as_far_as_a_file_can_be(run_compare: Compare, tmp_path: Path) -> None:
    good = tmp_path / "good.py"
    good.write_text("flow = 1\ndef get_flow(n): ...\n")
    broken = tmp_path / "broken.py"
    broken.write_text("def flow(:\n")
    for text, says in {
        f"{tmp_path}/none.py:flow": "there is no Python file",
        f"{tmp_path}:flow": "there is no Python file",
        f"{broken}:flow": "does not parse: line 1",
        f"{good}:other": "defines no 'other'",
        f"{good}:get_flow(": "no name or call",
        f"{good}:a.b": "no name or call",
        f"{good}:flow; import os": "no name or call",
    }.items():
        done = run_compare("v0.16.0", "--dataflow", text)
        assert (done.returncode, says in done.stderr, "Traceback" in done.stderr) == (2, True, False), (text, done.stderr)
    done = run_compare("v0.16.0", "--dataflow", f"{good}:flow", "--set", "partitions=1")
    assert (done.returncode, "--set" in done.stderr) == (2, True)
