"""Workers that do not answer, or not end: values of which only a time limit is known."""

from collections.abc import Collection, Mapping
from random import Random

import pytest

from tests.criteria import parse
from tests.records import make_record, measurement, specify
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict, incomplete_runs
from waitbench.analysis.judging import Judgement
from waitbench.analysis.rule import RULE
from waitbench.analysis.statistics import compare
from waitbench.model.metrics import BY_NAME, METRICS, STOP
from waitbench.model.record import ScenarioResults
from waitbench.model.run import Lack
from waitbench.model.verdicts import GateStatus, Verdict
from waitbench.reporting.findings import findings, summarize

LATE = BY_NAME["latency-p50"]
WITHIN_S = 2.0
UNANSWERED = Lack(why="it did not handle its poke within 2 s", more_than=WITHIN_S)
BAD_POKE = Lack(why="the poke ended with exit code 2")
ALL = range(1, 31)


def deaf(
    name: str,
    *,
    base: Collection[int] = (),
    new: Collection[int] = (),
    lack: Lack = UNANSWERED,
    rounds: int = 18,
    late_s: Mapping[str, float] = {},
    **more: Mapping[str, float],
) -> ScenarioResults:
    """Rounds in which nothing changed, but that a side does not answer in some of them."""
    record = make_record({"base": [], "new": []}, scenario=name)
    random = Random(name)
    for number in range(1, rounds + 1):
        for label, lacking in (("base", base), ("new", new)):
            costs = {key: by_label[label] for key, by_label in more.items()}
            values = {key: cost * random.uniform(0.99, 1.01) for key, cost in costs.items()}
            late = {LATE.key: late_s.get(label, 0.002) * random.uniform(0.9, 1.1)}
            record.add(
                measurement(
                    label,
                    number,
                    values | ({} if number in lacking else late),
                    incomplete={LATE.key: lack} if number in lacking else {},
                )
            )
    return record


def concluded(*records: ScenarioResults, criterion: str = "latency-p50:25%,5ms") -> GateVerdict:
    """The verdict of a gate with this criterion and eight others."""
    names = ("idle", "cpu", "rss", "wakeups", "syscalls", "startup", "shutdown", "real")
    others = [f"{name}:10%" for name in names]
    return gate.conclude(records, parse([*others, criterion], METRICS))


def of_lateness(verdict: GateVerdict) -> Judgement:
    (judgement,) = (it for it in verdict.judgements if it.criterion.metric == LATE)
    return judgement


@pytest.mark.parametrize(("late_s", "rounds"), [(0.002, 12), (0.002, 18), (1.9, 18)])
def test_a_candidate_that_does_not_answer_fails_however_late_the_baseline_is(
    late_s: float, rounds: int
) -> None:
    record = deaf("mute", new=ALL, late_s={"base": late_s}, rounds=rounds)
    verdict = concluded(record)
    assert verdict.outcome is GateStatus.FAIL
    assert verdict.failed_runs == ()
    late = of_lateness(verdict)
    assert late.missed is not None
    assert (late.missed.candidate, late.missed.baseline, late.missed.pairs) == (rounds, 0, rounds)
    assert late.ratio is None, "nobody knows how late it would have been"
    summary = summarize(findings([compare(record)], verdict))
    assert summary.notes[0].text == ("FAIL: new: median lateness not within 2 s in mute")
    assert f"new, {rounds} runs of mute incomplete: it did not handle its poke within 2 s" in [
        note.text for note in summary.notes
    ]


def test_its_reversal_passes_and_so_does_a_baseline_that_answers_seldom() -> None:
    assert of_lateness(concluded(deaf("mute", base=ALL))).verdict is Verdict.WITHIN_MARGIN
    assert of_lateness(concluded(deaf("mute", base=(2, 5)))).verdict is Verdict.WITHIN_MARGIN


def test_who_is_deaf_in_one_of_several_scenarios_fails() -> None:
    verdict = concluded(deaf("idle"), deaf("back", new=ALL), deaf("gone"))
    assert verdict.outcome is GateStatus.FAIL
    assert of_lateness(verdict).verdict is Verdict.SLOWER


def test_a_few_missed_pokes_neither_fail_nor_pass() -> None:
    late = of_lateness(concluded(deaf("some", new=(3, 9))))
    assert late.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("rounds", "is_told"), [(2, False), (3, True), (18, True)])
def test_of_two_deaf_sides_it_is_said_after_three_rounds_and_the_gate_ends(
    rounds: int, is_told: bool
) -> None:
    record = deaf("deaf", base=ALL, new=ALL, rounds=rounds)
    verdict = concluded(record)
    late = of_lateness(verdict)
    assert late.is_always_missed is is_told
    assert (late.verdict is Verdict.NOT_MEASURED) is is_told
    assert bool(gate.unsettled(verdict.judgements)) is not is_told
    if is_told:
        assert verdict.outcome is GateStatus.NOT_MEASURED
        assert late.why_given_up == (
            f"both revisions, in each of {rounds} rounds: it did not handle its poke within 2 s"
        )


def test_rounds_that_both_miss_are_ties() -> None:
    assert of_lateness(concluded(deaf("a", base=(1,), new=(1,)))).verdict is Verdict.WITHIN_MARGIN
    half = range(1, 9)
    late = of_lateness(concluded(deaf("a", base=half, new=half)))
    assert late.verdict is Verdict.INCONCLUSIVE


def test_a_poke_that_fails_leaves_its_question_alone_without_an_answer() -> None:
    record = deaf("a", new=(4,), lack=BAD_POKE, time_cpu_idle={"base": 1.0, "new": 1.0})
    answers = {it.criterion.metric.name: it for it in concluded(record).judgements}
    assert answers["latency-p50"].verdict is Verdict.NOT_MEASURED
    assert answers["latency-p50"].why_given_up == "new: the poke ended with exit code 2"
    assert answers["idle"].verdict is Verdict.WITHIN_MARGIN


def test_nothing_waits_for_lateness_that_does_not_ask_for_it() -> None:
    record = deaf("mute", new=ALL, base=ALL, time_cpu_idle={"base": 1.0, "new": 2.0})
    verdict = gate.conclude([record], parse(["idle:10%"], METRICS))
    assert verdict.outcome is GateStatus.FAIL
    assert gate.conclude([deaf("a", new=ALL, time_cpu_idle={"base": 1.0, "new": 1.0})],
                         parse(["idle:10%"], METRICS)).outcome is GateStatus.PASS  # fmt: skip


@pytest.mark.parametrize(("new", "verdict"), [((), Verdict.EXPLAINED), (ALL, Verdict.SLOWER)])
def test_to_be_dead_excuses_no_rise(new: Collection[int], verdict: Verdict) -> None:
    cpu_s, wakeups = {"base": 2.4, "new": 0.1}, {"base": 10.0, "new": 100.0}
    record = deaf("bull", new=new, time_cpu_idle=cpu_s, wakeups=wakeups)
    answers = {it.criterion.metric.name: it for it in concluded(record).judgements}
    assert answers["wakeups"].verdict is verdict


def test_a_limit_does_not_hold_for_what_never_answers() -> None:
    record = deaf("mute", new=ALL)
    (limit,) = gate.conclude([record], parse(["limit latency-p50:10s"], METRICS)).judgements
    assert limit.verdict is Verdict.SLOWER


def test_a_worker_that_does_not_end_fails_by_that_too() -> None:
    runs = [{"time_cpu_idle": 1.0} for _ in range(18)]
    record = make_record({"base": [], "new": []})
    specify(record, metrics=(*METRICS, STOP))
    for number, values in enumerate(runs, 1):
        lack = {STOP.key: Lack(why="it did not end within 3 s of SIGTERM; killed", more_than=3.0)}
        record.add(measurement("base", number, {**values, STOP.key: 0.01 + number / 1e4}))
        record.add(measurement("new", number, values, incomplete=lack))
    verdict = gate.conclude([record], DEFAULTS)
    assert {failure.criterion.metric for failure in verdict.failures} == {STOP}
    (failed,) = incomplete_runs(record)
    assert (failed.label, failed.count) == ("new", 18)


def test_no_mean_is_shown_of_a_side_that_did_not_always_answer() -> None:
    record = deaf("some", new=(1, 2))
    (result,) = (figure for figure in compare(record).figures["new"] if figure.metric == LATE)
    assert (result.before is None, result.after, result.ratio) == (False, None, None)
    assert result.why_not == "not within 2 s in 2 of 18 runs"
    summary = summarize(findings([compare(record)]))
    assert not [note.text for note in summary.notes if "nothing else got worse" in note.text]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_equal_twins_that_do_not_always_answer_do_not_fail(share: float) -> None:
    random = Random(share)

    def missed() -> set[int]:
        return {number for number in ALL if random.random() < share}

    outcomes = [
        concluded(*(deaf(name, base=missed(), new=missed(), rounds=rounds) for name in "ab"))
        for rounds in RULE.analyses
        for _ in range(20)
    ]
    assert not [verdict for verdict in outcomes if verdict.failures]
