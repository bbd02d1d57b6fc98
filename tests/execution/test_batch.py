"""Runs of worker files that take place at once: their turns, their window, and who fails."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from tests.execution.launches import CALM, COUNTER, Launched, launch
from tests.records import measurement, outcome, times
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import launched
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.execution.accounting import metrics_of
from waitbench.execution.batch import Place
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine
from waitbench.execution.measure import Measurer
from waitbench.model.run import FAILED, Outcome, PlannedRun, Result
from waitbench.model.scenario import Scenario
from waitbench.system.places import Cache

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
POKE = '[poke]\ncommand = ["sh", "-c", "cat /proc/uptime >> ../poked; sleep 0.1"]\n'


def batch(folder: Path, codes: Sequence[str], more: str = CALM) -> list[Launched]:
    """What comes of workers that are programs of Python, at once."""
    together = folder / "together"
    together.mkdir()

    def run(number: int) -> Launched:
        own = folder / f"{number}"
        own.mkdir()
        (own / "code.py").write_text(codes[number])
        (own / "mine.toml").write_text(
            f"command = '{{revision}} code.py {{port}}'\nfiles = ['code.py']\n{more}"
        )
        read = worker_file.read(own / "mine.toml")
        told = {
            **launched(read, scenarios_of(read)[0].parameters),
            "running": {},
            "tracepoint": COUNTER.tracepoint,
            "python": sys.executable,
            "revision": sys.executable,
            "place": {"folder": str(together), "number": number, "count": len(codes)},
        }
        found = launch(own / "run", told)
        # What the harness does when a run is over.
        Place(str(together), number, len(codes)).leave()
        return found

    with ThreadPoolExecutor(len(codes)) as pool:
        return list(pool.map(run, range(len(codes))))


def overlap(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether any two have a moment in common."""
    ordered = sorted(spans)
    return any(after[0] < before[1] for before, after in pairwise(ordered))


def marks(found: Sequence[Launched], begin: str, end: str) -> list[tuple[float, float]]:
    of = [one.report["marks"] for one in found]
    return [(one[begin]["monotonic_ns"] / 1e9, one[end]["monotonic_ns"] / 1e9) for one in of]


def test_starts_and_ends_come_one_after_the_other_and_windows_together(tmp_path: Path) -> None:
    found = batch(tmp_path, [STAMPS] * 3, f"{CALM}{POKE}")
    assert [(one.exit_code, one.failure) for one in found] == [(0, "")] * 3
    stamps = [[float(line) for line in one.output.split() if line != "up"] for one in found]
    starts = [(one[0], one[1]) for one in stamps]
    assert not overlap(starts)
    assert not overlap([(one[2], one[3]) for one in stamps])
    windows = marks(found, "begin", "end")
    assert max(begin for begin, _ in windows) < min(end for _, end in windows)
    assert max(end for _, end in starts) < min(begin for begin, _ in windows)
    # Pokes and ends come after all windows, and one run's are over before those of the next begin.
    last = marks(found, "told", "exit")
    assert not overlap(last)
    assert max(end for _, end in windows) < min(begin for begin, _ in last)


def test_to_wait_for_others_is_in_no_time_and_its_cpu_in_none_of_the_parts(tmp_path: Path) -> None:
    burns = "import time\nprint('up', flush=True)\nwhile True: time.process_time()"
    slow = f"import time\ntime.sleep(1)\n{burns}"
    found = batch(tmp_path, [burns, slow])
    assert [one.failure for one in found] == ["", ""]
    waits = found[0].report
    assert waits["waited_s"] + found[1].report["waited_s"] > 0.5
    metrics = metrics_of(9.0, waits, [])
    assert metrics["time_wall_clock"] == 9.0 - waits["waited_s"]
    parts = sum(metrics[f"time_cpu_{part}"] for part in ("startup", "steady", "shutdown"))
    at = {name: one["cpu_s"] for name, one in waits["marks"].items()}
    waiting_s = at["begin"] - at["started"] + at["told"] - at["end"]
    assert waiting_s > 0
    assert abs(metrics["time_cpu"] - parts - waiting_s) < 1e-6
    assert metrics["time_cpu_startup"] == at["started"]


def test_who_is_killed_in_its_start_or_its_window_keeps_nobody_waiting(tmp_path: Path) -> None:
    killed = "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    later = "import os, time\nprint('up', flush=True)\ntime.sleep(0.5)\nos.kill(os.getppid(), 9)"
    quits = "print('up', flush=True)"
    found = batch(tmp_path, [STAMPS, killed, STAMPS, later, quits])
    assert [one.exit_code for one in found] == [0, -9, 0, -9, 1]
    assert "ended with exit code 0" in found[4].failure


class Meeting(Measurer):
    """Runs that end when all have begun; that of ``fails`` does not begin."""

    def measure(self, planned: PlannedRun, sibling: Any = None) -> Result:
        if planned.label == "fails":
            return outcome(planned.label, planned.round, FAILED)
        sibling.meet()
        used_s = 3.0 + planned.position
        sibling.meet()
        sibling.used_s = used_s + 0.5
        return measurement(planned.label, 2, {**times(1, 1, 0), "machine_foreign_cpu": 9.0})


@dataclass
class Bystander:
    """What a measurer needs of a bench to have runs take place at once."""

    cache: Cache


def meet(cache: Cache, *labels: str) -> list[Result]:
    measurer = Meeting(cast(Hyperfine, None), cast(Bench, Bystander(cache)))
    scenario = Scenario(name="one", purpose="")
    return measurer.measure_together(
        [
            PlannedRun(scenario=scenario, label=label, round=2, position=position)
            for position, label in enumerate(labels)
        ]
    )


def test_none_takes_what_another_used_for_that_of_other_programs(cache: Cache) -> None:
    results = meet(cache, "a", "b")
    assert [run.label for run in results] == ["a", "b"]
    foreign = [run.metrics["machine_foreign_cpu"] for run in results]  # type: ignore[union-attr]
    # b used 4.5 s beside a, and a 3.5 s beside b.
    assert foreign == [4.5, 5.5]


def test_one_that_does_not_begin_keeps_nobody_waiting(cache: Cache) -> None:
    assert [isinstance(run, Outcome) for run in meet(cache, "a", "fails")] == [False, True]
