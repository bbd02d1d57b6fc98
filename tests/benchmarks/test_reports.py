"""What the trials of the gate, of a fix and by hand are summed up to."""

from benchmarks import by_hand, fix, gate_trials
from benchmarks.by_hand import Series
from tests.benchmarks.judged import FAILED, OPEN, judgement, trial


def test_trials_of_the_gate_are_summed_up_by_the_worst_of_them() -> None:
    all_settled = trial(judgement(), judgement(), wall_s=100)
    assert gate_trials.summary([trial(judgement(), OPEN, wall_s=40), all_settled, all_settled]) == [
        "failed 0 of 3",
        "verdicts settled: median 100%, at least 50% in each",
        "median 100 s, of which 50 s measuring; 40 to 100 s",
    ]


def test_a_false_alarm_and_an_open_question_are_named() -> None:
    line = gate_trials.line_of(trial(FAILED, OPEN))
    assert "50% of 2 verdicts settled" in line
    assert "FAILED: wakeups:5% in waiting: slower ×1.1" in line
    assert "open: steady:10%,together in waiting: unclear ×1.02 after 30 rounds" in line


def test_a_verdict_on_a_fix_is_right_or_wrong_by_its_direction() -> None:
    stopped = trial(FAILED, remarks=["CPU fell."])
    assert fix.report(stopped, passes=False).startswith("right")
    assert fix.report(stopped, passes=True).startswith("WRONG")
    assert fix.report(stopped, passes=True).endswith("CPU fell.")


def test_by_hand_only_means_that_are_far_apart_differ() -> None:
    low, near, high = (
        Series(system_s=[centre - 0.1, centre, centre + 0.1], wall_s=1.0)
        for centre in (1.0, 1.15, 1.3)
    )
    assert by_hand.says(low, near) == by_hand.says(near, low) == "no telling"
    assert by_hand.says(low, high) == "rose"
    assert by_hand.says(high, low) == "fell"


def test_the_table_has_what_either_says_of_each_scenario() -> None:
    pair = tuple(Series(system_s=[at, at + 0.02], wall_s=50.0) for at in (1.0, 0.1))
    together = judgement(scenario="2 waiting scenarios together", criterion="steady:10%,together")
    lines = by_hand.table({"waiting": (pair[0], pair[1])}, trial(FAILED, together))
    assert lines[2:] == [
        "| waiting | 1.010 ± 0.014 s, 0.110 ± 0.014 s | fell "
        "| wakeups:5% in waiting: slower ×1.1 after 4 rounds |",
        "| 2 waiting scenarios together | – | – "
        "| steady:10%,together in 2 waiting scenarios together: same ×1 after 3 rounds |",
        "| all | 100 s | | 10 s, of which 5 s measuring: FAIL |",
    ]
