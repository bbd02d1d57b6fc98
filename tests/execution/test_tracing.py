"""Traces: what is made of the tracer's output, and what the real one counts."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from tests.waiting import until
from waitbench.execution import tracing
from waitbench.execution.bench import PROBE_DIRECTORY, Bench, ReadyRun
from waitbench.execution.tracing import name_of, parse, trace_of
from waitbench.model.errors import HarnessError
from waitbench.model.run import Calls
from waitbench.model.scenario import Scenario
from waitbench.system.instruments import find_tracer
from waitbench.system.places import DATAFLOWS

MS = 1_000_000
FUTEX, EXIT = (tracing._names.get(name) for name in ("futex", "exit_group"))
WORKER = {
    "pid": 7,
    "first_poll": {"monotonic_ns": 3 * MS},
    "end_of_input": {"monotonic_ns": 9 * MS},
}


def output(**changes: Any) -> str:
    """What the tracer writes of process 7, whose stretches are its phases, and of its helper 8."""
    maps: dict[str, Any] = {
        "@all_calls": 24,
        "@all_spent": 9 * MS,
        "@began": {"7": 0, "8": 0},
        "@ended": {"7": 10 * MS, "8": 10 * MS},
        "@marks": {"7,1": 3 * MS - 10, "7,2": 9 * MS - 10, "8,1": 3 * MS},
        "@calls": {f"7,0,{FUTEX}": 3, f"7,1,{FUTEX}": 5, f"7,2,{EXIT}": 1, f"8,0,{FUTEX}": 15},
        "@spent": {f"7,0,{FUTEX}": 2 * MS, f"7,1,{FUTEX}": 4 * MS, f"8,0,{FUTEX}": 3 * MS},
        **changes,
    }
    lines: list[dict[str, Any]] = [
        {"type": "attached_probes", "data": {"probes": 10}},
        {"type": "printf", "data": "attached"},
        *({"type": "map", "data": {name: entries}} for name, entries in maps.items()),
    ]
    return "\n\n".join(map(json.dumps, lines))


def test_the_calls_of_workers_are_told_apart_by_phase_and_name() -> None:
    trace = trace_of("a", parse(output()), [WORKER])
    assert trace.calls == {
        ("startup", "futex"): Calls(count=3, cpu_s=0.002),
        ("steady", "futex"): Calls(count=5, cpu_s=0.004),
        ("shutdown", "exit_group"): Calls(count=1, cpu_s=0),
    }
    lasted_s = {"startup": 0.003, "steady": 0.006, "shutdown": 0.001}
    assert trace.lasted_s == pytest.approx(lasted_s, abs=1e-7)


def test_workers_are_added_up_and_their_phases_averaged() -> None:
    trace = trace_of("a", parse(output()), [WORKER, WORKER])
    assert trace.count("steady", "futex") == 10
    assert trace.lasted_s["steady"] == pytest.approx(0.006)
    assert trace.per_second("steady", "futex") == pytest.approx(10 / 0.006)


def test_more_marks_than_phases_do_not_move_a_phase() -> None:
    """A workload may read its own resources too."""
    marks = {"7,1": 1 * MS, "7,2": 3 * MS - 10, "7,3": 5 * MS, "7,4": 9 * MS - 10}
    calls = {f"7,{stretch},{FUTEX}": 1 for stretch in range(5)}
    observed = parse(output(**{"@marks": marks, "@calls": calls, "@all_calls": 5}))
    trace = trace_of("a", observed, [WORKER])
    counts = [trace.count(phase, "futex") for phase in ("startup", "steady", "shutdown")]
    assert counts == [2, 2, 1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"@all_calls": 25}, "more kinds of calls"),
        ({"@all_spent": 1}, "more kinds of calls"),
        ({"@began": {}}, "did not see process 7"),
        ({"@ended": {}}, "did not see process 7"),
        ({"@marks": {}}, "no system call that was traced"),
        ({"@marks": {"7,1": -20 * MS}}, "no system call that was traced"),
        ({"@calls": {"7": 1}}, "cannot be read"),
    ],
)
def test_a_trace_is_absent_rather_than_wrong(changes: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(HarnessError, match=reason):
        trace_of("a", parse(output(**changes)), [WORKER])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"type": "lost_events", "data": {"events": 3}}, "lost events"),
        ({"type": "printf", "data": "time limit"}, "time limit"),
        ("{", "cannot be read"),
    ],
)
def test_a_tracer_that_lost_something_or_gave_up_is_not_believed(line: Any, reason: str) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    with pytest.raises(HarnessError, match=reason):
        parse(f"{output()}\n{text}\n")
    with pytest.raises(HarnessError, match="cannot be read"):
        parse("")


def test_workers_without_phases_have_no_trace() -> None:
    silent = {"pid": 7, "first_poll": None, "end_of_input": None}
    with pytest.raises(HarnessError, match="no worker says"):
        trace_of("a", parse(output()), [silent])


def test_a_number_without_a_name_is_shown_as_it_is() -> None:
    assert name_of(99_999) == "call 99999"


@pytest.fixture(scope="module")
def tracer() -> None:
    """The real one, where this machine lets it trace."""
    found = find_tracer()
    if found.path is None:
        pytest.skip(found.reason)


@dataclass(frozen=True)
class OneRun:
    """A bench whose only run is this command."""

    command: tuple[str, ...]
    folder: Path

    @contextmanager
    def prepare(self, _scenario: Scenario, _label: str) -> Iterator[ReadyRun]:
        (self.folder / "probes").mkdir()
        variables = {PROBE_DIRECTORY: str(self.folder / "probes"), "PYTHONPATH": str(DATAFLOWS)}
        yield ReadyRun(
            folder=self.folder, working_folder=self.folder, command=self.command,
            variables=variables, time_limit_s=60, services=None,
        )  # fmt: skip


SLEEP_S = 0.2
WORKLOAD = f"""
import os, subprocess, sys, time
from support import probe
for _ in range(11): os.getppid()
subprocess.run([sys.executable, "-c", "import os\\nfor _ in range(99): os.getppid()"])
probe.first_poll()
for _ in range(222): os.getppid()
time.sleep({SLEEP_S})
probe.end_of_input()
for _ in range(33): os.getppid()
"""


def record(folder: Path, program: str) -> Any:
    bench = OneRun((sys.executable, "-c", program), folder)
    return tracing.record(cast(Scenario, None), "a", cast(Bench, bench))


def tracers() -> list[int]:
    """The tracers of this process that still run."""
    return [child.pid for child in psutil.Process().children() if child.name() == "bpftrace"]


@pytest.mark.integration
@pytest.mark.usefixtures("tracer")
def test_each_call_of_a_worker_is_counted_once_and_none_of_its_helper(tmp_path: Path) -> None:
    trace = record(tmp_path, WORKLOAD)
    counts = [trace.count(phase, "getppid") for phase in ("startup", "steady", "shutdown")]
    assert counts == [11, 222, 33]
    assert 0 < trace.cpu_s("steady", "getppid") < trace.lasted_s["steady"]
    # Asleep it is on no CPU, although the call lasts.
    assert trace.cpu_s("steady", "clock_nanosleep") < SLEEP_S <= trace.lasted_s["steady"]
    assert tracers() == []


@pytest.mark.integration
@pytest.mark.usefixtures("tracer")
def test_a_run_that_fails_has_no_trace_and_leaves_no_tracer(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"the run failed \(exit code 1\): .*on purpose"):
        record(tmp_path, "raise SystemExit('on purpose')")
    assert tracers() == []


@pytest.mark.integration
@pytest.mark.usefixtures("tracer")
def test_the_tracer_ends_by_itself_when_who_started_it_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path[:0] = ['src', '.']\n"
        "from pathlib import Path\n"
        "from tests.execution.test_tracing import record, tracers\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "record(folder, 'print(1, flush=True); import time; time.sleep(60)')\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", program])
    log = tmp_path / "output"
    until(lambda: log.exists() and log.read_text() != "")
    children = psutil.Process(harness.pid).children()
    (tracer,) = (child for child in children if child.name() == "bpftrace")
    harness.kill()
    harness.wait()
    tracer.wait(30)
    assert not tracer.is_running()
    for other in children:
        if other.is_running():
            other.kill()


def test_a_tracer_that_does_not_attach_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "bpftrace"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'ERROR: not here' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(tracing, "TRACER", str(fake))
    with pytest.raises(HarnessError, match="did not attach: ERROR: not here"):
        record(tmp_path, "")
