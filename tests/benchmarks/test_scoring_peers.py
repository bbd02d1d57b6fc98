"""The comparison of transports: each model is treated alike, and what is said of empty calls."""

import csv
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scorers.call import WARM_UP_CALLS
from scorers.problem import Problem
from scorers.treatment import USUAL, Treatment

from benchmarks import scoring_calls, scoring_peers, scoring_transports
from benchmarks.scoring_calls import Row
from benchmarks.scoring_peers import ModelClock
from benchmarks.scoring_transports import Model
from tests.waiting import until

PIPED = [
    "blocking",
    "subwabbit-blocking",
    "nonblocking-spin",
    "nonblocking-park",
    "subwabbit-nonblocking",
]
MODEL_PROGRAM = f"""#!{sys.executable} -u
import sys
for line in sys.stdin:
    print(0.5)
"""


class Published:
    """As the published classes are made, ask, and are closed."""

    def __init__(self, formatter: object, vw_args: Sequence[str]) -> None:
        self.vw_process = subprocess.Popen(
            ["vw", "-p", "/dev/stdout", *vw_args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._pending_lines = 0

    def predict(self, common: str, items: Sequence[str], timeout: float) -> Iterator[float]:
        assert self.vw_process.stdin is not None
        assert self.vw_process.stdout is not None
        for item in items[:3]:
            self.vw_process.stdin.write(f"{common} {item}\n".encode())
            yield float(self.vw_process.stdout.readline())
        self._pending_lines = 2

    def close(self) -> None:
        self.vw_process.communicate()


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model program that is there at once, and a published package that asks it."""
    program = tmp_path / "vw"
    program.write_text(MODEL_PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    package: Any = ModuleType("subwabbit")
    package.VowpalWabbitDummyFormatter = object
    package.VowpalWabbitProcess = package.VowpalWabbitNonBlockingProcess = Published
    monkeypatch.setitem(sys.modules, "subwabbit", package)


@contextmanager
def running(*treatments: Treatment) -> Iterator[dict[str, scoring_transports.Transport]]:
    with scoring_transports.running(Path("model"), PIPED, treatments) as transports:
        yield dict(transports)


def observed(transports: dict[str, scoring_transports.Transport]) -> dict[str, tuple[int, int]]:
    return {
        name: each.model.observed() for name, each in transports.items() if each.model is not None
    }


@pytest.mark.usefixtures("peers")
@pytest.mark.parametrize("treatment", [USUAL, Treatment(5, 1 << 18)], ids=repr)
def test_every_model_is_treated_alike_also_those_of_the_published_package(
    treatment: Treatment,
) -> None:
    with running(treatment) as transports:
        found = observed(transports)
    assert list(found) == PIPED
    assert len(set(found.values())) == 1


@pytest.mark.usefixtures("peers")
def test_each_treatment_reaches_the_models_that_are_named_after_it() -> None:
    with running(*scoring_peers.TREATMENTS) as transports:
        found = observed(transports)
    usual = found["blocking, nice 0, pipe default"]
    for name in PIPED:
        for niceness in (0, 5):
            # 19 is the nicest, where these tests run nicely themselves.
            nice = min(usual[0] + niceness, 19)
            assert found[f"{name}, nice {niceness}, pipe default"] == (nice, usual[1])
            assert found[f"{name}, nice {niceness}, pipe 1024 KiB"] == (nice, 1 << 20)


@pytest.mark.usefixtures("peers")
def test_every_call_says_what_the_one_before_left_and_what_the_model_did(tmp_path: Path) -> None:
    with running(USUAL) as transports:
        rows = scoring_peers.call_in_turn(transports, Problem(40), 30, 10.0)
    assert len(rows) == len(PIPED) * 30
    assert all(row.model_ran_s >= 0 <= row.model_waited_s for row in rows)
    for name in PIPED:
        calls = [row for row in rows if row.transport == name]
        assert [row.call for row in calls] == list(range(30))
        assert sum(row.model_ran_s for row in calls) > 0
        theirs = name.startswith("subwabbit")
        assert {(row.lines, row.pending_before) for row in calls} == {(3, 2) if theirs else (40, 0)}
    scoring_calls.write(tmp_path / "calls.csv", rows)
    with (tmp_path / "calls.csv").open(newline="") as file:
        assert [int(row["lines"]) for row in csv.DictReader(file)] == [row.lines for row in rows]


def test_a_model_that_is_at_work_is_told_from_one_that_has_nothing_to_do() -> None:
    at_work = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    idle = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with at_work, idle, ExitStack() as stack:
        stack.callback(at_work.kill)
        assert idle.stdin is not None
        assert idle.stdout is not None
        idle.stdin.write(b"there\n")
        idle.stdin.flush()
        idle.stdout.readline()
        clocks = [ModelClock(Model(pid=each.pid, pipes=[])) for each in (at_work, idle)]
        with clocks[0] as working, clocks[1] as waiting:
            until(lambda: working.ready() == 1 and working.read()[0] > 0.01)
            until(lambda: waiting.ready() == 0)
    with ModelClock(None) as nothing:
        assert nothing.read() == (0, 0)
        assert nothing.ready() == 0


def row(number: int, **known: Any) -> Row:
    usual = {
        "transport": "blocking",
        "begun": 0.0,
        "taken_s": 0.010,
        "lines": 7,
        "pending_before": 0,
        "cpu_s": 0.001,
        "model_ran_s": 0.004,
        "model_waited_s": 0.002,
    }
    return Row(call=number, **{**usual, **known})


def test_calls_without_a_line_stand_beside_how_usual_leftovers_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scoring_calls.report(
        [
            row(0, pending_before=4),
            row(1, lines=0, pending_before=5, stall_s=0.004, model_ready=1),
            row(2, lines=0, stall_s=0.006),
            row(3, lines=0, pending_before=1),
            row(4),
        ],
        0.010,
    )
    _, _, summary, *calls = capsys.readouterr().out.splitlines()
    assert summary == (
        "blocking: zero lines: 3; of them 2 began with leftovers (of all 5 calls 3); "
        "1 while the machine stood still"
    )
    assert calls[0] == (
        "    call 1: 10.0 ms, 5 lines left over; control stopped for 4.0 ms; "
        "model ran 4.0 ms, waited for a core 2.0 ms, threads ready at the end: 1"
    )
    assert [call.split(":")[0].strip() for call in calls] == ["call 1", "call 2", "call 3"]


def test_transports_without_an_empty_call_have_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scoring_calls.report(
        [row(0), row(1, taken_s=0.013, stall_s=0.002), row(2, taken_s=0.013, transport="park")],
        0.010,
    )
    _, blocking, park = capsys.readouterr().out.splitlines()
    assert blocking.split() == [
        "blocking", "2", "11.500", "12.970", "13.000", "7.0", "0", "1.000", "4.000", "2.000",
        "1", "(1)",
    ]  # fmt: skip
    assert park.endswith("1 (0)")


def test_what_the_models_were_found_to_have_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    class Found(scoring_transports.Model):
        def observed(self) -> tuple[int, int]:
            return self.pid, 65_536

    scoring_peers.report_treatments([Found(pid=niceness, pipes=[]) for niceness in (0, 5, 0)])
    assert capsys.readouterr().out.splitlines() == [
        "models with niceness 0 and pipes of 65,536 bytes: 2",
        "models with niceness 5 and pipes of 65,536 bytes: 1",
    ]


def test_every_transport_is_warmed_up_by_as_many_calls_as_a_worker_of_the_family() -> None:
    asked = []

    class Noted(scoring_transports.PublishedTransport):
        def ready_call(self, context: str, candidates: Any, limit_s: float) -> Any:
            asked.append((context, len(candidates.as_bytes), limit_s))
            return lambda: ([], 0)

    problem = Problem(30)
    many = scoring_transports.Candidates.of(problem.candidates)
    scoring_peers.warm_up(Noted(None), problem, many, 0.25)
    assert [lines for _, lines, _ in asked] == [1] + [30] * WARM_UP_CALLS
    assert {limit_s for _, _, limit_s in asked[1:]} == {0.25}
    assert len({context for context, _, _ in asked[1:]}) == WARM_UP_CALLS
