"""What the trials of the gate are summed up to."""

from benchmarks import gate_trials
from tests.benchmarks.judged import FAILED, OPEN, judgement, trial


def test_trials_of_the_gate_are_summed_up_by_the_worst_of_them() -> None:
    all_settled = trial(judgement(), judgement(), wall_s=100)
    assert gate_trials.summary([trial(judgement(), OPEN, wall_s=40), all_settled, all_settled]) == [
        "2 pass, 1 inconclusive",
        "questions settled: median 100%, at least 50% in each; median 0 open",
        "median 100 s, of which 50 s measuring; 40 to 100 s",
    ]


def test_a_false_alarm_and_an_open_question_are_named() -> None:
    line = gate_trials.line_of(trial(FAILED, OPEN))
    assert line.startswith("fail: 50% of 2 settled")
    assert "FAILED: wakeups:5% in waiting: slower ×1.1" in line
    assert "open: steady:10%,together in waiting: inconclusive ×1.02 after 30 rounds" in line


def test_a_trial_without_an_answer_says_why() -> None:
    assert "why it is inconclusive; 30 rounds" in gate_trials.line_of(trial(OPEN))


def test_competitors_are_gone_in_the_end() -> None:
    with gate_trials.competing() as started:
        assert [process.poll() for process in started] == [None] * gate_trials.COMPETITORS
    assert None not in [process.returncode for process in started]
