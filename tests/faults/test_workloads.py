"""Workloads that misbehave: each is an outcome that says so, and the sound one beside it counts."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands.processes import records_in
from tests.faults.clones import Clone
from waitbench.model.run import FAILED, LOST_ITEMS, NOT_BUILT, TIMED_OUT, FailedRun
from waitbench.model.run import HARMLESS as HARMLESS_OUTCOMES

pytestmark = pytest.mark.integration

REPORT = 'open(os.environ["BENCH_PROBE_DIR"] + "/process-1.json", "w").write({!r}); os._exit(0)'

INVENT = """do
dumps = json.dumps
json.dump = lambda report, file: file.write(dumps({{**report, **{}}}))
marks = os.open(os.environ["BENCH_PROBE_DIR"] + "/marks", os.O_WRONLY)
os.write(marks, b"begin\\n")
time.sleep(0.1)
os.write(marks, b"end\\n")
"""
UNREADABLE = "report cannot be read"

MISDEEDS = {
    "raises": ("do raise ValueError('on purpose')", "exit code 1: ValueError: on purpose"),
    # As the kernel does to whoever uses up the machine's memory.
    "killed": ("do os.kill(os.getpid(), 9)", "exit code 137"),
    "floods": ("do while True: os.write(1, b'x' * 65536)", "wrote more than 16 MiB to its output"),
    "flees": (
        "do if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()",
        "still ran after the dataflow's end; killed",
    ),
    "garbles": (f"do {REPORT.format('{')}", UNREADABLE),
    "digs deep": (f"do {REPORT.format('[' * 100_000)}", UNREADABLE),
    # It would be on no side of what is allowed, and files could not hold it.
    "invents": (INVENT.format("{'polls': float('nan')}"), UNREADABLE),
    "exaggerates": (INVENT.format("{'lateness_ns': [[10**400, 5]]}"), UNREADABLE),
    "wrecks": (
        "do import shutil; shutil.rmtree(os.path.dirname(os.environ['BENCH_PROBE_DIR']))\n"
        "os._exit(0)",
        "hyperfine ended with exit code",
    ),
    "orphans itself": ("do os.kill(os.getppid(), 9); time.sleep(600)", "exit code 137"),
    "shouts": (
        "do os.write(2, b'\\x1b[2J\\x00\\xff boom\\n'); os._exit(7)",
        "exit code 7: \ufffd[2J\ufffd\ufffd boom",
    ),
    "vanishes": ("do os._exit(0)", "items expected, 0 went in, 0 came out"),
    "loses": ("lose", "128 items expected, 127 went in"),
    "doubles": ("double", "not the 128"),
    "hangs": ("hang", "killed with all its processes"),
    "breaks": ("broken", "broken on purpose"),
}
"""What each does, and what is said of it."""
REASONS = {
    **dict.fromkeys(MISDEEDS, FAILED),
    **dict.fromkeys(("vanishes", "loses", "doubles"), LOST_ITEMS),
    "hangs": TIMED_OUT,
    "breaks": NOT_BUILT,
}
HARMLESS = {"closes its output": "do os.close(1); os.close(2)"}


def is_bad(outcome: FailedRun) -> bool:
    return outcome.reason not in HARMLESS_OUTCOMES


def test_each_misdeed_is_an_outcome_that_says_what_happened_and_the_others_are_measured(
    shared_clone: Clone, tmp_path: Path
) -> None:
    deeds = {"good": "ok", **HARMLESS, **{name: deed for name, (deed, _) in MISDEEDS.items()}}
    wheels = [
        shared_clone.wheel(f"deed-{number}", deed, name)
        for number, (name, deed) in enumerate(deeds.items())
    ]
    limits = ["--time-limit", "10", "--rounds", "16", "--fail-on", "cpu:100%"]
    options = ["-s", "partitioned", "--no-plot", "--results", tmp_path / "results"]
    done = shared_clone.run(*wheels, *options, *limits)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert shared_clone.left() == []
    assert "NOT MEASURED" in done.stdout, done.stdout + done.stderr
    # Each gives an error for its failed runs, and one for the question without an answer.
    verdict = ElementTree.parse(tmp_path / "results" / "verdict.xml").getroot()
    assert verdict.get("errors") == str(2 * len(MISDEEDS))
    (record,) = records_in(tmp_path / "results")
    assert {"good", *HARMLESS} == {run.label for run in record.measurements}
    ended = {run.label: run for run in record.failed_runs if is_bad(run)}
    assert {name: run.reason for name, run in ended.items()} == REASONS
    assert "Traceback" in ended["raises"].log
    said = {name: run.message for name, run in ended.items()}
    assert [name for name, (_, words) in MISDEEDS.items() if words not in said[name]] == [], said
