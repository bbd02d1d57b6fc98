"""What benchmarks/peers.py makes of what the tools say."""

import math
from pathlib import Path

import msgspec
import pytest

from benchmarks import peer_tools, peers
from benchmarks.pairs import worker
from benchmarks.peer_tools import SIGNIFICANT, TOOLS, Setup
from benchmarks.peers import EQUAL_PAIRS, KINDS, Result, Table, Trial
from waitbench.engines.worker import file as worker_file

SETUP = Setup(window_s=4, runs=10, noise=False)
PLANTED = [kind for kind, pair in KINDS.items() if pair.equal_kind == "equal"]


def result(kind: str, tool: str, score: float, repeat: int = 0) -> Result:
    trial = Trial(kind=kind, repeat=repeat, tool=tool, setup=SETUP)
    return Result(trial=trial, score=score, detail="", wall_s=7.0)


@pytest.mark.parametrize("pair", {pair.worker: pair for pair in KINDS.values()}.values())
def test_the_worker_file_of_each_kind_has_its_revisions(pair: peers.Pair) -> None:
    assert {pair.baseline, pair.candidate} <= {*worker_file.read(pair.worker).revisions}


def test_each_planted_kind_is_a_variant_of_the_worker() -> None:
    variants = worker_file.read(KINDS["double"].worker).variants
    assert set(variants) == set(worker.VARIANTS) == {"base", *PLANTED}


def test_equal_pairs_compare_a_baseline_with_itself() -> None:
    assert all(pair.baseline == pair.candidate for pair in EQUAL_PAIRS.values())
    assert {pair.equal_kind for pair in KINDS.values()} == set(EQUAL_PAIRS)


def test_any_first_part_of_a_session_is_balanced() -> None:
    trials = peers.schedule(["double", "rq"], ["asv"], 10, 20, SETUP)
    assert len(trials) == len(set(trials)) == 10 * 2 + 20 * 2
    assert [trial.kind for trial in trials[:6]] == [
        "equal", "equal rq", "equal", "equal rq", "double", "rq",
    ]  # fmt: skip


def test_a_session_may_have_equal_pairs_alone() -> None:
    trials = peers.schedule(["double"], ["asv", "pyperf"], 0, 3, SETUP)
    assert [(trial.kind, trial.repeat) for trial in trials] == [
        ("equal", number) for number in range(3) for _ in range(2)
    ]


@pytest.mark.parametrize(
    ("scores", "expected"), [((), math.inf), ((1.2, 1.5, 1.1), 1.5), ([1.9, 1.4] + [1.0] * 18, 1.4)]
)
def test_a_threshold_lets_at_most_a_twentieth_of_equal_pairs_through(
    scores: list[float], expected: float
) -> None:
    assert peers.threshold(TOOLS["asv"], scores) == expected


def test_a_test_of_significance_keeps_its_level_and_waitbench_its_exit_code() -> None:
    assert peers.threshold(TOOLS["hyperfine"], [0.1, 0.2]) == SIGNIFICANT
    assert peers.threshold(TOOLS["waitbench"], [1.0] * 9) < 1


def test_the_table_counts_and_names_a_tool_that_is_better() -> None:
    equal = [result("equal", tool, 1.05) for tool in ("asv", "waitbench")]
    kinds = [
        result("double", "asv", 2.0), result("double", "waitbench", 1.0),
        result("late-spin", "asv", 1.7), result("late-spin", "waitbench", 0.0),
        result("wake-ups", "asv", 1.05), result("wake-ups", "waitbench", 1.0),
    ]  # fmt: skip
    table = Table([*equal, *kinds])
    assert table.rows() == [
        ["found", "asv", "waitbench"],
        ["double", "1 of 1", "1 of 1"],
        ["late-spin", "1 of 1", "0 of 1"],
        ["wake-ups", "0 of 1", "1 of 1"],
        ["false alarms, equal", "0 of 1", "1 of 1"],
        ["  score of a regression", "> 1.05", "> 0.5"],
        ["median seconds", "7", "7"],
    ]
    assert table.rivals() == [
        "double: asv finds 1 of 1 in 7 s, waitbench 1 of 1 in 7 s",
        "late-spin: asv finds 1 of 1 in 7 s, waitbench 0 of 1 in 7 s",
    ]


def test_results_are_read_back_without_an_unfinished_line(tmp_path: Path) -> None:
    made, path = result("double", "asv", 1.5), tmp_path / "peers.jsonl"
    line = msgspec.json.encode(made)
    path.write_bytes(line + b"\n" + line[:30])
    assert peers.read_results(path) == [made]
    assert peers.read_results(tmp_path / "absent.jsonl") == []


def test_the_rest_is_expected_to_take_as_long_as_the_tool_took_so_far() -> None:
    trials = peers.schedule(["double"], ["asv", "cpu_percent"], 1, 0, SETUP)
    assert peers.expected_s(trials, [result("double", "asv", 1.0)]) == 7 + 5


def test_outputs_of_the_tools_are_understood() -> None:
    perf = "# started\n\n40.5,msec,task-clock,2.00%,40500000,100.00,0.01,CPUs utilized\n"
    assert peer_tools.perf_mean(perf) == pytest.approx((40.5, 0.81))
    slower = "Mean +- std dev: [a] 24 ms +- 1 ms -> [b] 30 ms +- 1 ms: 1.25x slower"
    assert peer_tools.pyperf_ratio(slower) == 1.25
    assert peer_tools.pyperf_ratio("Benchmark hidden because not significant (1): idle") == 1
    assert peer_tools.pyperf_ratio(slower.replace("slower", "faster")) == 1
    ratios = {
        "| + | 1 | 1.9 | 1.94 ": 1.94,
        "|   | 1 | 1 | ~1.02 ": 1.02,
        "|   | 0 | 0 | n/a ": 1.0,
    }
    for row, ratio in {**ratios, "| + | 0 | 0.15 | n/a ": float("inf")}.items():
        evidence = peer_tools.asv_evidence(f"All benchmarks:\n\n{row}| asv_idle.track_idle |\n")
        assert evidence is not None
        assert evidence.score == ratio
    assert peer_tools.asv_evidence("Traceback") is None


def test_no_variation_at_all_is_no_evidence() -> None:
    assert peer_tools.certainty(float("nan")) == 0
    assert peer_tools.certainty(0.01) == pytest.approx(2)
