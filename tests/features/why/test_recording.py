"""Who wakes up, and from where: of real processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, partialmethod
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from tests.running import command_line, python
from tests.waiting import until
from waitbench import engines
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.launch_report import WAITING
from waitbench.execution.services import Running
from waitbench.features.why import stacks
from waitbench.features.why.extension import sample_run as record_run
from waitbench.features.why.lines import Line, lines
from waitbench.features.why.sampler import StackSampler, sample_running
from waitbench.features.why.samples import KERNEL, Samples
from waitbench.features.why.stacks import UnreadableStacks
from waitbench.model.errors import HarnessError
from waitbench.model.launch import BatchSlot, DataflowConfig, LaunchConfig
from waitbench.model.scenario import Scenario

LAUNCH = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {!r}]))"
"""As our launchers are: what they start is the worker."""
IDLE = """
import os, threading, time
def idle():
    while True: time.sleep(0.5)
def needle():
    while True: time.sleep(0.01)
def haystack():
    while True: time.sleep(0.002)
def begin(*names):
    for name in names: threading.Thread(target=globals()[name], daemon=True).start()
    open(os.environ["BENCH_WAITING"], "w").close()
    idle()
"""


@dataclass(frozen=True)
class OneRun:
    """A bench whose only run is this command."""

    command: tuple[str, ...]
    folder: Path

    @property
    def engine(self) -> Any:
        return engines.DEFAULT

    @contextmanager
    def prepare(self, _scenario: Scenario, _label: str, _slot: BatchSlot) -> Iterator[ReadyRun]:
        yield ReadyRun(
            folder=self.folder, launcher=self.command,
            variables={}, time_limit_s=120, services=Running(()),
            config=LaunchConfig(program=DataflowConfig(arguments=self.command, processes=1)),
        )  # fmt: skip


def record(folder: Path, program: str) -> Samples:
    folder.mkdir(exist_ok=True)
    scenario = SimpleNamespace(window_s=1.0, expected_s=60.0)
    scenario.with_least_window = lambda _seconds: scenario
    bench = OneRun((sys.executable, "-c", LAUNCH.format(program)), folder)
    return record_run(cast(Scenario, scenario), "a", cast(Bench, bench))


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return record(tmp_path_factory.mktemp("idle"), f"{IDLE}\nbegin()")


def functions(line: Line) -> list[str]:
    return [frame.name for frame in line.frames if frame.kind != KERNEL]


@pytest.mark.integration
def test_a_thread_that_wakes_up_often_is_named_though_its_stack_cannot_be_read_once(
    idle: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = count()

    def at_second(pid: int, read: Any = stacks.read) -> Any:
        if next(tries) == 0:
            raise UnreadableStacks("its functions cannot be read (for once)")
        return read(pid)

    monkeypatch.setattr(stacks, "read", at_second)
    why_recorded = record(tmp_path, f"{IDLE}\nbegin('needle')")
    assert why_recorded.remarks == ()
    line = lines([idle, why_recorded])[0]
    assert line.is_asleep
    # Not what begins threads.
    assert functions(line) == ["needle"]
    assert line.process == "worker"
    before, after = line.costs
    assert before.wakeups_per_s == 0 < after.wakeups_per_s
    left = psutil.Process().children(recursive=True)
    assert not any("needle" in str(command_line(process)) for process in left)


@pytest.mark.integration
def test_a_coroutine_is_named_although_it_works_for_less_than_half_a_millisecond(
    tmp_path: Path,
) -> None:
    program = """
import asyncio, os
async def poll_the_table():
    while True:
        await asyncio.sleep(0.002)
        sum(range(6000))
open(os.environ["BENCH_WAITING"], "w").close()
asyncio.run(poll_the_table())
"""
    works, *_ = [line for line in lines([record(tmp_path, program)]) if not line.is_asleep]
    assert "poll_the_table" in functions(works)


@pytest.mark.integration
def test_a_run_that_fails_is_said_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"ended before its wake-ups were counted: .*on purpose"):
        record(tmp_path, "raise SystemExit('on purpose')")


@pytest.mark.integration
def test_who_wakes_up_in_what_runs_already_is_seen_and_nobody_hears_of_it(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting"
    env = {**os.environ, WAITING: str(waiting)}
    with python(f"{IDLE}\nbegin('needle')", env=env) as process:
        until(waiting.exists)
        why_recorded = sample_running(lambda: [process.pid], 1.0)
        # A shell that has started it would take it for suspended.
        heard = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
        assert os.waitid(os.P_PID, process.pid, heard) is None
        assert process.poll() is None
    assert why_recorded.remarks == ()
    assert lines([why_recorded])[0].frames[0].name == "needle"


@pytest.mark.parametrize(("counted_s", "sampled_s"), [(2.0, 8.0), (30.0, 30.0), (120.0, 40.0)])
def test_stacks_of_what_runs_already_are_read_for_about_as_long_as_it_is_counted(
    counted_s: float, sampled_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasted_s = {"count": 0.0, "sample": 0.0}

    def note(what: str, _sampler: StackSampler, seconds: float) -> None:
        lasted_s[what] += seconds

    for what in lasted_s:
        monkeypatch.setattr(StackSampler, what, partialmethod(partial(note, what)))
    sample_running(lambda: [], counted_s)
    assert lasted_s == {"count": counted_s, "sample": sampled_s}
