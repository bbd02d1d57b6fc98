"""Runs of worker files that take place at once: their turns, their window, and who fails."""

import json
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import convert

from tests.execution.launches import CALM, COUNTER, Launched, worker
from tests.records import measurement, times
from waitbench.execution.accounting import LaunchReport, metrics_of
from waitbench.execution.batch import BatchMember
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError
from waitbench.model.launch import BatchSlot
from waitbench.model.run import FailedRun, Measurement, PlannedRun
from waitbench.model.scenario import Scenario
from waitbench.system.machine import CpuTimes

STAMPS = """
import signal, sys, time
def stamp(): print(time.monotonic(), flush=True)
def end(*_):
    stamp()
    time.sleep(0.1)
    stamp()
    sys.exit()
signal.signal(signal.SIGTERM, end)
stamp()
time.sleep(0.1)
stamp()
print("up", flush=True)
while True: time.sleep(1)
"""
"""Prints when its start and its end begin and are over."""
POKE = '[poke]\ncommand = "sleep 0.1"\n'


def batch(
    folder: Path,
    codes: Sequence[str],
    more: str = CALM,
    turns_s: Sequence[float] = (),
    lanes: int = 1,
) -> list[Launched]:
    """What comes of workers that are programs of Python, at once."""
    together = folder / "together"
    together.mkdir()
    slots = [
        BatchSlot(str(together), number, len(codes), lanes, *turns_s)
        for number in range(len(codes))
    ]
    members = [BatchMember(slot) for slot in slots]
    for member in members:
        member.enter()

    def run(number: int) -> Launched:
        launched = worker(
            folder / f"{number}", codes[number], more, tracepoint=COUNTER.tracepoint,
            slot=slots[number],
            scenario="mine-acted" if "[[phase]]" in more else "mine",
        )  # fmt: skip
        # What the harness does when a run is over.
        members[number].leave()
        return launched

    with ThreadPoolExecutor(len(codes)) as pool:
        return list(pool.map(run, range(len(codes))))


def overlap(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether any two have a moment in common."""
    ordered = sorted(spans)
    return any(after[0] < before[1] for before, after in pairwise(ordered))


def marks(launches: Sequence[Launched], begin: str, end: str) -> list[tuple[float, float]]:
    readings = [launched.report["marks"] for launched in launches]
    return [(it[begin]["monotonic_ns"] / 1e9, it[end]["monotonic_ns"] / 1e9) for it in readings]


@pytest.mark.parametrize("turns_s", [(), (50.0, 50.0)])
def test_starts_and_ends_come_one_after_the_other_and_windows_together(
    turns_s: Sequence[float], tmp_path: Path
) -> None:
    launches = batch(tmp_path, [STAMPS] * 3, f"{CALM}{POKE}", turns_s)
    assert [(it.exit_code, it.failure) for it in launches] == [(0, "")] * 3
    stamps = [[float(line) for line in it.stdout.split() if line != "up"] for it in launches]
    starts = [(it[0], it[1]) for it in stamps]
    assert not overlap(starts)
    assert not overlap([(it[2], it[3]) for it in stamps])
    windows = marks(launches, "begin", "end")
    assert max(begin for begin, _ in windows) < min(end for _, end in windows)
    assert max(end for _, end in starts) < min(begin for begin, _ in windows)
    # Pokes and ends come after all windows, and one run's are over before those of the next begin.
    last = marks(launches, "ending", "exit")
    assert not overlap(last)
    assert max(end for _, end in windows) < min(begin for begin, _ in last)


def test_each_lane_has_one_start_and_one_end_at_a_time(tmp_path: Path) -> None:
    meets = f"""
import time
from pathlib import Path
def meet(name):
    Path(name).touch()
    while len(list(Path({str(tmp_path)!r}).rglob(name))) < 2:
        time.sleep(0.01)
meet("starts")
{STAMPS}"""
    meets = meets.replace("def end(*_):", "def end(*_):\n    meet('ends')")
    launches = batch(tmp_path, [meets, meets, STAMPS, STAMPS], f"{CALM}{POKE}", lanes=2)
    assert [(it.exit_code, it.failure) for it in launches] == [(0, "")] * 4
    stamps = [[float(line) for line in it.stdout.split() if line != "up"] for it in launches]
    for lane in (0, 1):
        for begin in (0, 2):
            assert not overlap([(it[begin], it[begin + 1]) for it in stamps[lane::2]])


SERVICE = '[services.one]\ncommand = "sleep 60"\nready = { seconds = 0 }\n'


def test_with_services_a_run_ends_while_the_next_is_poked(tmp_path: Path) -> None:
    """The second poke waits until the first worker is about to end."""
    is_ending = f'while [ -z "$(find {tmp_path} -name ending)" ]; do sleep 0.01; done'
    poke = json.dumps(["sh", "-c", f"mkdir {tmp_path}/first || {is_ending}"])
    burns = """
import signal, sys, time
from pathlib import Path
def end(*_):
    Path("ending").touch()
    sys.exit(time.sleep(0.5))
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True: time.process_time()
"""
    more = f"{CALM}{SERVICE}[poke]\ncommand = {poke}\n"
    launches = batch(tmp_path, [burns] * 3, more, lanes=2)
    assert [(it.exit_code, it.failure) for it in launches] == [(0, "")] * 3
    pokes, ends = sorted(marks(launches, "ending", "poked")), marks(launches, "last", "exit")
    assert not overlap(pokes)
    assert not overlap(ends)
    assert pokes[1][0] < min(ends)[1]
    # The third run waits for the second's end, by CPU that no metric has.
    last = max(launches, key=lambda it: it.report["marks"]["exit"]["monotonic_ns"]).report
    at = {name: it["cpu_s"] for name, it in last["marks"].items()}
    assert at["last"] - at["poked"] > 0.1
    metrics = metrics_of(9.0, convert(last, LaunchReport), [])
    assert metrics["time_cpu_shutdown"] < at["exit"] - at["ending"] - 0.1
    parts = sum(metrics[f"time_cpu_{part}"] for part in ("startup", "idle", "shutdown"))
    assert metrics["time_cpu"] == pytest.approx(parts)


def test_work_for_a_poke_counts_also_while_a_run_waits_for_its_end(tmp_path: Path) -> None:
    works = """
import os, signal, sys, time
from pathlib import Path
has_to_end = []
signal.signal(signal.SIGTERM, lambda *_: has_to_end.append(True))
print("up", flush=True)
while not os.path.exists("poked"): time.sleep(0.01)
Path("handled").touch()
begun = time.process_time()
while time.process_time() < begun + 0.3: pass
while not has_to_end: time.sleep(0.01)
time.sleep(0.4)
"""
    poke = 'command = "touch {folder}/poked"\ndone = { command = "test -e {folder}/handled" }\n'
    launches = batch(tmp_path, [works] * 3, f"{CALM}{SERVICE}[poke]\n{poke}", lanes=2)
    assert [(it.exit_code, it.failure) for it in launches] == [(0, "")] * 3
    for launched in launches:
        metrics = metrics_of(9.0, convert(launched.report, LaunchReport), [])
        assert metrics["time_cpu_shutdown"] > 0.25


@pytest.mark.parametrize(
    ("act", "turns_s"), [("start", (0.05, math.inf)), ("end", (math.inf, 0.05))]
)
def test_a_run_that_outlasts_its_turn_lets_the_next_start_or_end(
    act: str, turns_s: Sequence[float], tmp_path: Path
) -> None:
    """None has started, or ended, before all have begun to."""
    meets = f"""
import signal, sys, time
from pathlib import Path
def meet(name):
    Path(name).touch()
    while name == {act!r} and len(list(Path({str(tmp_path)!r}).rglob(name))) < 3:
        time.sleep(0.01)
def end(*_):
    meet("end")
    sys.exit()
signal.signal(signal.SIGTERM, end)
meet("start")
print("up", flush=True)
while True: time.sleep(1)
"""
    launches = batch(tmp_path, [meets] * 3, f"{CALM}{POKE}", turns_s)
    assert [(it.exit_code, it.failure) for it in launches] == [(0, "")] * 3


def test_phases_begin_when_all_have_settled_and_are_over_before_the_windows(
    tmp_path: Path,
) -> None:
    slow = STAMPS.replace("time.sleep(0.1)", "time.sleep(1)")
    stamps = "import time; print(time.monotonic(), file=open('began', 'w'))"
    act = json.dumps([sys.executable, "-c", stamps])
    launches = batch(tmp_path, [STAMPS, slow], f'{CALM}[[phase]]\nname = "acted"\nrun = {act}\n')
    assert [it.failure for it in launches] == ["", ""]
    ready = max(it.report["ready_ns"] for it in launches) / 1e9
    windows = marks(launches, "begin", "end")
    began = [float(path.read_text()) for path in tmp_path.rglob("began")]
    assert len(began) == 2
    assert all(ready < at < min(begin for begin, _ in windows) for at in began)


@pytest.mark.parametrize("has_phase", [False, True])
def test_to_wait_for_others_is_in_no_time_and_in_no_cpu_time(
    has_phase: bool, tmp_path: Path
) -> None:
    burns = "import time\nprint('up', flush=True)\nwhile True: time.process_time()"
    slow = f"import time\ntime.sleep(1)\n{burns}"
    phase = f'{CALM}[[phase]]\nname = "acted"\nrun = "true"\n'
    launches = batch(tmp_path, [burns, slow], phase if has_phase else CALM)
    assert [it.failure for it in launches] == ["", ""]
    waits = launches[0].report
    assert waits["waited_s"] + launches[1].report["waited_s"] > 0.5
    metrics = metrics_of(9.0, convert(waits, LaunchReport), [])
    assert metrics["time_wall_clock"] == 9.0 - waits["waited_s"]
    parts = sum(metrics[f"time_cpu_{part}"] for part in ("startup", "idle", "shutdown"))
    at = {name: it["cpu_s"] for name, it in waits["marks"].items()}
    waited_s = at["begin"] - at["acted"] + at["acting"] - at["started"] + at["ending"] - at["end"]
    assert waited_s > 0
    used_s = waits["used"]["time_user"] + waits["used"]["time_system"]
    assert metrics["time_cpu"] == pytest.approx(parts)
    # Without services, a run keeps its turn between poke and end.
    assert parts == pytest.approx(used_s - waited_s, abs=0.01)
    assert metrics["time_user"] + metrics["time_system"] == pytest.approx(metrics["time_cpu"])


def test_who_is_killed_in_its_start_or_its_window_keeps_nobody_waiting(tmp_path: Path) -> None:
    killed = "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    later = "import os, time\nprint('up', flush=True)\ntime.sleep(0.5)\nos.kill(os.getppid(), 9)"
    quits = "print('up', flush=True)"
    launches = batch(tmp_path, [STAMPS, killed, STAMPS, later, quits])
    assert [it.exit_code for it in launches] == [0, -9, 0, -9, 1]
    assert "ended with exit code 0" in launches[4].failure


class Service:
    """It uses 2 s between two questions."""

    def __init__(self) -> None:
        self.used_s = 0.0

    def cpu_s(self) -> float:
        self.used_s += 2.0
        return self.used_s


class Meeting(Measurer):
    """Runs that end when both have begun; each uses 3 s beside its service."""

    def _prepare(self, run: Any) -> None:
        run.ready = SimpleNamespace(services=Service(), label=run.planned.label)

    def _time(self, ready: Any) -> float:
        MET.wait(MEETS_WITHIN_S)
        if ready.label == "fails":
            raise HarnessError("a service has ended")
        return 1.0

    def _read(self, run: Any, ready: object) -> Measurement:
        run.used_s, run.waiting_s = 3.0, WAITING_S[run.planned.label]
        return measurement(run.planned.label, 2, times(1, 1, 0))


MET, MEETS_WITHIN_S = Barrier(2), 60
WAITING_S = {"a": 0.5, "b": 2.5}
"""CPU while the runs of ``Meeting`` wait for each other: that of the second may be of others."""


@pytest.mark.parametrize(
    ("second", "ended_s", "others_s"),
    [
        ("b", 0.0, 20 - 2 * 5),
        ("b", 9.0, 20 - 9 - 2 * 2 + 2.0),
        ("fails", 0.0, 20 - 5),
        ("fails", 7.5, 20 - 7 - 2),
    ],
)
def test_what_runs_at_once_and_their_services_use_is_of_other_programs_to_none(
    second: str, ended_s: float, others_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run without a measurement only the processes that the harness has waited for count."""
    readings = iter((CpuTimes(0.0, 0.0), CpuTimes(20.0, 0.0)))
    monkeypatch.setattr(CpuTimes, "now", lambda: next(readings))
    used_s = iter((1.0, 1.0 + ended_s))
    monkeypatch.setattr("waitbench.execution.measure.used_s", lambda: next(used_s))
    measurer = Meeting(cast(Hyperfine, None), cast(Bench, None))
    scenario = Scenario(name="one")
    results = measurer.measure(
        *(
            PlannedRun(scenario=scenario, label=label, round=2, position=position)
            for position, label in enumerate(("a", second))
        )
    )
    foreign = [it.metrics["machine_foreign_cpu"] for it in results if isinstance(it, Measurement)]
    assert foreign == [others_s] * len(foreign)
    assert [type(it) for it in results] == [
        Measurement,
        Measurement if second == "b" else FailedRun,
    ]


def test_nothing_is_measured_where_no_revision_is_left_to_run() -> None:
    assert Meeting(cast(Hyperfine, None), cast(Bench, None)).measure() == []
