"""Verdicts on windows of processes that are made up."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle, repeat
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from waitbench.features.look import windows
from waitbench.features.look.observe import Observation, Reading, Target, Total
from waitbench.features.look.view import notes_of
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.verdicts import GateStatus

Costs = Iterator[Total | None]
"""The costs of a process in its windows; ``None`` where it ends."""


def target(name: str) -> Target:
    return Target(name, frozenset(), frozenset())


def cost(
    *,
    cores: float = 0.01,
    wakeups: float = 10.0,
    calls: float | None = 20.0,
    memory: int | None = 2**24,
    seconds: float = 1.0,
) -> Total:
    return Total(
        name="in all", cores=cores, wakeups_per_s=wakeups, syscalls_per_s=calls,
        memory_bytes=memory, seconds=seconds, notes=["a note."],
    )  # fmt: skip


class Answers:
    """Answers about processes with given costs, without any time."""

    def __init__(self, set_attribute: Callable[[object, str, object], None]) -> None:
        self._costs: dict[str, Costs] = {}
        set_attribute(windows, "Observation", self._observation)
        set_attribute(windows, "wait", lambda *_: None)

    def _observation(self, target: Target, _: ExitStack) -> Observation:
        costs = self._costs[target.name]
        state = SimpleNamespace(now=cost(), target=target, has_ended=False, read_before=False)

        def read() -> Reading:
            if state.read_before:
                now = next(costs)
                state.has_ended, state.now = now is None, now or state.now
            state.read_before = True
            return Reading(0.0, frozenset(), {}, {}, {}, {})

        state.read = read
        state.cost = lambda *_, **__: state.now
        return cast(Observation, state)

    def about(self, *costs: Costs, limits: str = "", longest_s: float = 90.0) -> windows.Decision:
        self._costs = {str(number): it for number, it in enumerate(costs)}
        criteria = windows.read_limits(limits.split())
        return windows.judge([*map(target, self._costs)], criteria, longest_s)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch.setattr)


def varying(mean: float, spread: float, seed: int = 1) -> Iterator[Total]:
    """Windows whose CPU scatters about a mean."""
    random = np.random.default_rng(seed)
    while True:
        yield cost(cores=mean * float(random.lognormal(-(spread**2) / 2, spread)))


def test_a_limit_fails_after_nine_windows_and_holds_after_eighteen(answers: Answers) -> None:
    above = answers.about(varying(0.0125, 0.15), limits="idle:1%")
    assert (above.exit_code, above.windows) == (ExitCode.REGRESSION, "9 windows of 1 s")
    below = answers.about(varying(0.008, 0.15), limits="idle:1%")
    assert (below.exit_code, below.windows) == (ExitCode.OK, "18 windows of 1 s")


def test_two_limits_are_answered_together_and_each_in_its_own_unit(answers: Answers) -> None:
    answer = answers.about(repeat(cost()), limits="wakeups:11/s syscalls:25/s memory:17MB idle:2%")
    assert answer.exit_code is ExitCode.OK
    shares = [it.ratio.value if it.ratio else None for it in answer.verdict.judgements]
    assert shares == pytest.approx([10 / 11, 20 / 25, 2**24 / 17e6, 0.5])
    failing = answers.about(repeat(cost()), limits="idle:2% wakeups:9/s")
    assert [it.metric.name for it in failing.verdict.failures] == ["wakeups"]


def test_a_worker_that_works_in_each_third_window_is_judged_by_threes(answers: Answers) -> None:
    def bursts() -> Iterator[Total]:
        return cycle([cost(cores=0.03), *[cost(cores=0.0)] * 2])

    above = answers.about(bursts(), limits="idle:0.8%")
    assert (above.exit_code, above.windows) == (ExitCode.REGRESSION, "27 windows of 1 s")
    below = answers.about(bursts(), limits="idle:1.25%")
    assert (below.exit_code, below.windows) == (ExitCode.OK, "54 windows of 1 s")


def test_what_stays_open_is_neither_a_pass_nor_a_failure(answers: Answers) -> None:
    answer = answers.about(varying(0.01, 0.3), limits="idle:1%", longest_s=45.0)
    assert answer.outcome is GateStatus.INCONCLUSIVE
    assert (answer.exit_code, answer.windows) == (ExitCode.FAILED, "90 windows of 0.5 s")
    assert any("--for" in note.text for note in notes_of(answer))


def test_windows_are_never_shorter_than_a_tenth_of_a_second(answers: Answers) -> None:
    answer = answers.about(repeat(cost()), limits="idle:2%", longest_s=0.5)
    assert (answer.exit_code, answer.windows) == (ExitCode.FAILED, "5 windows of 0.1 s")


def test_a_process_that_ends_keeps_its_windows_and_is_not_measured(answers: Answers) -> None:
    answer = answers.about(iter([*[cost()] * 17, None]), limits="idle:2%")
    assert (answer.exit_code, answer.windows) == (ExitCode.FAILED, "17 windows of 1 s")
    assert notes_of(answer)[0].text == "NOT MEASURED: 0 ended before an answer was certain"
    assert answer.totals[0].cores == 0.01
    at_once = answers.about(iter([None]), limits="idle:2%")
    assert (at_once.exit_code, at_once.windows) == (ExitCode.FAILED, "0 windows of 1 s")


def test_a_process_that_certainly_failed_may_end(answers: Answers) -> None:
    answer = answers.about(iter([*[cost()] * 9, None]), limits="idle:0.5%")
    assert answer.exit_code is ExitCode.REGRESSION


def test_two_processes_are_compared_by_the_default_criteria(answers: Answers) -> None:
    same = answers.about(varying(0.01, 0.05), varying(0.01, 0.05, seed=2))
    assert same.exit_code is ExitCode.OK
    assert [it.metric.name for it in same.verdict.judgements] == [
        "idle", "wakeups", "syscalls", "memory",
    ]  # fmt: skip
    costlier = answers.about(varying(0.01, 0.05), varying(0.013, 0.05, seed=2))
    assert [it.metric.name for it in costlier.verdict.failures] == ["idle"]
    cheaper = answers.about(varying(0.013, 0.05), varying(0.01, 0.05, seed=2))
    assert cheaper.exit_code is ExitCode.OK
    of_second = answers.about(varying(0.013, 0.05), varying(0.01, 0.05, seed=2), limits="idle:1.2%")
    assert of_second.exit_code is ExitCode.OK


def test_few_wake_ups_are_not_lost_below_the_resolution_of_a_run(answers: Answers) -> None:
    answer = answers.about(repeat(cost(wakeups=1.0)), repeat(cost(wakeups=3.0)))
    assert [it.metric.name for it in answer.verdict.failures] == ["wakeups"]


def test_a_limit_of_what_is_not_counted_says_why(answers: Answers) -> None:
    with pytest.raises(HarnessError, match=r"syscalls: not measured here\. a note\."):
        answers.about(repeat(cost(calls=None)), limits="syscalls:5/s")
    with pytest.raises(HarnessError, match="memory: not measured here"):
        answers.about(repeat(cost(memory=None)), limits="memory:5MB")


@pytest.mark.parametrize("limit", ["latency:2s", "idle:20ms", "cpu:5%", "share:5%", "stop:2s"])
def test_a_limit_of_another_metric_names_those_of_a_running_process(limit: str) -> None:
    with pytest.raises(UsageError, match=r"idle:0.5%, wakeups:5/s, syscalls:50/s and memory:80MB"):
        windows.read_limits([limit])


def test_without_a_limit_there_is_nothing_to_decide(answers: Answers) -> None:
    with pytest.raises(UsageError, match="Name a limit"):
        answers.about(repeat(cost()))
