"""Every fact that is said beside figures: where it is said, and in which words.

The words are those of tests/frozen/expected/notes.txt.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.criteria import parse
from tests.frozen.checking import check
from tests.gate_runs import failing, sides, unclear, verdict_of
from tests.records import (
    disturb,
    facts,
    make_record,
    make_revision,
    measurement,
    outcome,
    times,
    waits,
)
from waitbench.analysis import gate, statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.rule import DiscordantPairs
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.record import ScenarioResults
from waitbench.model.run import BY_PROC
from waitbench.model.verdicts import Estimate, Verdict
from waitbench.reporting import notes
from waitbench.reporting.findings import findings, remarks, summarize

Input = Sequence[ScenarioResults] | GateVerdict
ONE, LATER = [times(1, 1, 1)], [times(1, 3, 1)]


def pair(**changes: Any) -> ScenarioResults:
    return make_record({"a": ONE * 2, "b": ONE * 2}, **changes)


def late(scenario: str, before: float, after: float) -> ScenarioResults:
    runs_of = {"a": waits(1, item_latency_p99=before), "b": waits(0.1, item_latency_p99=after)}
    return make_record(runs_of, scenario=scenario)


def near_the_resolution() -> Iterator[ScenarioResults]:
    for place, values in enumerate(((0.0, 0.0041, 0.0002, 0.0039), (0.0, 3e-4, 2e-4, 1e-4))):
        near = [{**times(1, 0.1, 0.1), "time_cpu_idle": value} for value in values]
        yield make_record({"old": near, "new": near}, scenario=f"near-{place}")


def failed_runs() -> Iterator[ScenarioResults]:
    for name in ("one", "two"):
        record = pair(scenario=name)
        for number, message in ((3, "first"), (4, "exit code 1")):
            record.add(outcome("b", number, "failed", message=message))
        yield record


def same_builds() -> Iterator[ScenarioResults]:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (make_revision("a", build=same), make_revision("b", build=same))
    for name in "xy":
        yield pair(revisions=revisions, mixed_origins=True, scenario=name)


def disturbed() -> Iterator[ScenarioResults]:
    record = make_record({"old": ONE * 3, "new": ONE * 2})
    for label in ("old", "new"):
        record.add(measurement(label, 4, ONE[0], marks=("disturbed",)))
    yield record
    yield disturb(make_record({"old": ONE * 3, "new": ONE * 3}, scenario="busy"), 1, 2)


def other_packages() -> ScenarioResults:
    revisions = (
        make_revision(label, build=facts(requirements=(f"json=={version}", "same==1")))
        for label, version in (("a", "3"), ("b", "4"))
    )
    return pair(revisions=tuple(revisions))


def waking(idle_s: float, *marks: str) -> ScenarioResults:
    record = make_record({"a": []})
    for number in (1, 2):
        metrics = {"time_cpu_idle": idle_s, "wakeups": 25_000}
        record.add(measurement("a", number, metrics, marks=marks))
    return record


def answered(**changes: Any) -> GateVerdict:
    """A verdict with one answer, which failed but for what is given."""
    verdict = failing()
    return replace(verdict, judgements=(replace(verdict.judgements[0], **changes),))


def failed_in_many() -> GateVerdict:
    first = failing().judgements[0]
    places = (replace(first, scenario=name, scenarios=(name,)) for name in "aabcde")
    return replace(failing(), judgements=tuple(places))


def judged(name: str, allowed: str, base: Sequence[float], new: Sequence[float]) -> GateVerdict:
    return verdict_of(sides(name, base, new), criteria=[f"{name}:{allowed}"])


OUTLIERS = DiscordantPairs(candidate=11, baseline=1, pairs=60)
NEARLY = Estimate(1.02, 1.01, 1.02, 30)
RARELY = [9.0 if number == 13 else 1 + number / 1000 for number in range(30)]
CASES: dict[str, Callable[[], Input]] = {
    "nothing odd": lambda: [pair()],
    "one round": lambda: [
        make_record({"old": waits(2, count=1), "new": waits(0.1, count=1)}),
    ],
    "a window that is not known": lambda: [make_record({"old": ONE * 3, "new": LATER * 3})],
    "many candidates": lambda: [
        make_record({f"v{n}": waits(cost) for n, cost in enumerate((4, 8, 8, 1, 4, 4))}),
    ],
    "items that are later, where most": lambda: [
        late("idle", 0.001, 0.002),
        late("busy", 0.001, 0.008),
        late("nothing", 1e-6, 3e-6),
    ],
    "costs below the resolution, or about it": lambda: [*near_the_resolution()],
    "runs without a measurement": lambda: [*failed_runs()],
    "identical builds of other compilers": lambda: [*same_builds()],
    "rounds that were disturbed": lambda: [*disturbed()],
    "a revision with few rounds": lambda: [make_record({"a": ONE * 4, "b": ONE})],
    "other packages": lambda: [other_packages()],
    "many wake-ups for little CPU": lambda: [waking(0.06)],
    "many wake-ups for much CPU": lambda: [waking(0.6)],
    "many wake-ups as /proc has them": lambda: [waking(0.06, BY_PROC)],
    "a gate that failed in many scenarios": failed_in_many,
    "a gate that failed with a question open": lambda: replace(
        failing(), judgements=(*failing().judgements, *unclear().judgements)
    ),
    "a gate that could not ask everything": lambda: replace(
        failing(),
        not_asked=(("a in x", "unsupported"), ("b in y", "ended"), ("c", "lost")),
        left_out=("rss: why.",),
    ),
    "a ratio to what is allowed": lambda: judged("system", "100%,500ms", [0.5] * 18, [3.0] * 18),
    "a gate's open question, which its table has": unclear,
    "a question that disturbed rounds keep open": lambda: answered(
        verdict=Verdict.INCONCLUSIVE, disturbed=15
    ),
    "outliers": lambda: answered(outliers=OUTLIERS, by_outliers=True, ratio=NEARLY, mean_ratio=2.4),
    "outliers that let nothing pass": lambda: answered(
        outliers=OUTLIERS, ratio=NEARLY, verdict=Verdict.INCONCLUSIVE, mean_ratio=None
    ),
    "runs that are too few to let anything pass": lambda: answered(
        outliers=DiscordantPairs(candidate=0, baseline=0, pairs=8),
        ratio=NEARLY,
        mean_ratio=None,
        verdict=Verdict.INCONCLUSIVE,
    ),
    "means that let nothing pass": lambda: judged("cpu", "10%", [1.0] * 30, RARELY),
    "means below an allowance": lambda: judged(
        "foreign-cpu", "25%,250ms", [1e-4] * 30, [9e-5, *[1e-6] * 29]
    ),
    "means of a cost that fell": lambda: judged("cpu", "25%", [100.0] * 30, [100.0, *[8.0] * 29]),
}


def lines(source: Input) -> list[str]:
    """All notes with their levels; of a gate its answers, too."""
    if isinstance(source, GateVerdict):
        all_notes = findings((), source).notes
        return [
            *(f"{note.level} {note.text}" for note in all_notes),
            *(f"  {notes.sentence(answer)}" for answer in source.judgements),
        ]
    compared = [statistics.compare(record) for record in source]
    all_notes = findings(compared).notes
    return [f"{note.level} {note.text}" for note in all_notes]


def test_each_fact_is_said_once_and_with_what_to_do() -> None:
    texts = ["\n".join([f"# {name}", *lines(made()), ""]) for name, made in CASES.items()]
    check("notes.txt", "\n".join(texts))


def test_a_table_of_workers_says_that_rounds_were_disturbed() -> None:
    texts = [text for record in disturbed() for text in remarks(statistics.compare(record))]
    assert any("disturbed by other programs" in text for text in texts), texts


def test_questions_that_are_open_for_one_reason_have_one_line() -> None:
    names = ("idle", "cpu", "rss", "wakeups")
    runs = [dict.fromkeys([BY_NAME[name].key for name in names], 100.0) for _ in range(9)]
    record = make_record({"base": runs, "new": runs})
    verdict = gate.conclude([record], parse([f"{name}:10%" for name in names], METRICS))
    texts = [note.text for note in summarize(findings([statistics.compare(record)], verdict)).notes]
    why = "9 runs are too few to rule out rare ones that cost more"
    titles = "idle CPU, total CPU, peak memory, wake-ups while waiting"
    assert [text for text in texts if why in text] == [f"new, {titles} in waiting: {why}"]
    assert not [text for text in texts if "--rounds" in text]


def test_of_many_revisions_a_line_has_the_mark_of_its_rise_and_a_gate_keeps_it() -> None:
    usual = {BY_NAME["cpu"].key: 1.0, BY_NAME["latency"].key: 0.01}
    late = {**usual, BY_NAME["latency"].key: 0.08}
    runs = {"v0": [usual] * 9, "v1": [usual] * 9, "v2": [usual] * 9, "v3": [late] * 9}
    record = make_record(runs)
    compared = [statistics.compare(record)]
    (line,) = (it for it in findings(compared).notes if it.text.startswith("v3: "))
    assert line.level == "▲"
    verdict = gate.conclude([record], parse(["cpu:10%"], METRICS))
    assert any("worse: lateness" in it.text for it in findings(compared, verdict).notes)


def test_the_gate_is_not_said_to_stop_early_for_a_revision_that_did_not_fail() -> None:
    base, twice = ([{"time_cpu_idle": cost} for cost in [seconds] * 9] for seconds in (1.0, 2.0))
    open_rounds = [{"time_cpu_idle": cost} for cost in [0.6, 1.6, 1.0] * 3]
    record = make_record({"a": base, "b": open_rounds, "c": twice})
    verdict = gate.conclude([record], parse(["idle:10%"], METRICS))
    assert [it.revision for it in verdict.failures] == ["c"]
    texts = [note.text for note in findings([statistics.compare(record)], verdict).notes]
    assert not [text for text in texts if "stops early" in text]


def test_without_a_comparison_nothing_is_said_of_other_costs() -> None:
    usual = {BY_NAME["cpu"].key: 1.0, BY_NAME["latency"].key: 0.01}
    lost = make_record({"old": [usual] * 3, "new": []})
    texts = [note.text for note in findings([statistics.compare(lost)]).notes]
    assert not [text for text in texts if "got worse" in text]
