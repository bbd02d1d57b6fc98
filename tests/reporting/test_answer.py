"""What a comparison comes to: the block that its report ends with."""

import pytest

from tests.gate_runs import failing, unclear
from tests.records import contestant, disturb, facts, make_record, outcome, times
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Comparison
from waitbench.model.record import Record
from waitbench.reporting import gate, gate_formats, markdown
from waitbench.reporting.answer import again, answer, next_step
from waitbench.reporting.console import print_answer
from waitbench.reporting.document import Answer, Command
from waitbench.reporting.summary import MARKS

LONG = "partitions-with-a-long-input-and-a-heavy-map-too"


def runs(
    steady: float, *, real: float = 1.0, system: float = 0.5, late: float | None = None
) -> list[dict[str, float]]:
    lateness = {} if late is None else {"item_latency_p99": late}
    return [
        {**times(real, 1, system), "time_cpu_steady": steady * (1 + i / 100), **lateness}
        for i in range(4)
    ]


def compare(*records: Record) -> list[Comparison]:
    return [statistics.compare(record) for record in records]


def printed(*records: Record, width: int = 80) -> list[str]:
    return shown(answer(compare(*records)), width)


def shown(found: Answer, width: int = 80) -> list[str]:
    return lines_of(lambda console: print_answer(found, console), width)


def test_one_round_says_its_change_and_that_it_has_no_interval() -> None:
    record = make_record({"old": runs(2)[:1], "new": runs(0.1)[:1]})
    lines = printed(record)
    assert " ".join(lines[1].split()) == "? steady CPU 20× less one round: no interval"
    assert " ".join(lines[4].split()) == "? waiting 2.00 s 0.100 s 20× less too few rounds"
    assert "! one round cannot tell a change from chance: --rounds 5 can" in lines


def test_where_the_steady_phase_is_not_known_total_cpu_is_judged_and_called_so() -> None:
    record = make_record({"old": [times(1, 1, 1)] * 3, "new": [times(1, 3, 1)] * 3})
    assert "CPU in all 2.0× more" in printed(record)[1]
    mixed = printed(record, make_record({"old": runs(2), "new": runs(4)}, scenario="other"))
    rows = [line.split("  ")[0] for line in mixed if line.startswith("▲ ")]
    assert rows[-2:] == ["▲ waiting, CPU in all", "▲ other"]


@pytest.mark.parametrize(
    ("label", "reason", "said"),
    [
        ("new", "not-supported", "– not supported"),
        ("old", "not-supported", "– not supported"),
        ("new", "failed", "✗ not measured"),
    ],
)
def test_a_scenario_without_a_ratio_says_why(label: str, reason: str, said: str) -> None:
    record = make_record({"old": runs(1), "new": runs(1)})
    record.measurements = [run for run in record.measurements if run.label != label]
    record.add(outcome(label, 1, reason, message="why"))
    lines = printed(record, make_record({"old": runs(1), "new": runs(1)}, scenario="other"))
    assert f"{said} in waiting" in {" ".join(line.split()) for line in lines}
    assert any(line.startswith(f"{said[0]} waiting ") and said[2:] in line for line in lines[2:])


def test_runs_that_failed_are_said_with_their_last_words() -> None:
    record = make_record({"old": runs(1), "new": []})
    for number in (1, 2):
        record.add(outcome("new", number, "failed", message="exit code 1: UnboundLocalError: x"))
    lines = printed(record)
    assert "! new, 2 runs of waiting: failed: exit code 1: UnboundLocalError: x" in lines


def test_a_verdict_of_disturbed_rounds_says_so_and_what_to_do() -> None:
    quiet = make_record({"old": runs(2), "new": runs(4)}, scenario="quiet")
    busy = make_record({"old": runs(2), "new": runs(4)}, scenario="busy")
    half = make_record({"old": runs(2), "new": runs(4)}, scenario="half")
    disturb(busy, 3)
    disturb(half, 2)
    lines = printed(quiet, busy, half)
    said = " ".join(lines)
    assert "! 5 of 12 rounds disturbed by other programs, most of those in busy: repeat" in said


def test_what_else_may_explain_a_difference_is_said_once_with_what_to_do() -> None:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (contestant("old", facts=same), contestant("new", facts=same))
    twice = [
        make_record(
            {"old": runs(1), "new": runs(1)},
            scenario=name,
            revisions=revisions,
            mixed_origins=True,
        )
        for name in "ab"
    ]
    lines = printed(*twice)
    assert lines.count("! new is the same build as old: what differs is chance") == 1
    assert "leave out --origin mixed" in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("label", ["new", "old+packaging==24.0"])
def test_one_build_with_another_package_beside_it_is_not_said_to_differ_by_chance(
    label: str,
) -> None:
    differing = {"beside": ("packaging==24.0",)}
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (contestant("old", facts=same), contestant(label, facts=same, **differing))
    record = make_record({"old": runs(1), label: runs(2)}, revisions=revisions)
    assert "chance" not in "\n".join(printed(record))


def test_a_twin_with_the_same_package_is_told_apart_from_one_with_another() -> None:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    set_to = {"beside": ("packaging==24.0",)}
    revisions = (
        contestant("old", facts=same),
        contestant("old+packaging==24.0", facts=same, **set_to),
        contestant("again", facts=same, **set_to),
    )
    record = make_record({one.label: runs(1) for one in revisions}, revisions=revisions)
    text = " ".join(" ".join(printed(record)).split())
    assert "again is the same build as old+packaging==24.0: what differs is chance" in text
    assert text.count("is the same build as") == 1


@pytest.mark.parametrize("label", ["v0.16.1", "a-label-of-forty-characters-at-the-most-x", "[red]"])
@pytest.mark.parametrize("others", [[], ["third"]])
@pytest.mark.parametrize("scenarios", [[LONG], [LONG, "short"]])
def test_the_answer_fits_80_columns(label: str, others: list[str], scenarios: list[str]) -> None:
    labels = ["old", label, *others]
    noisy = [{**one, "time_cpu_steady": one["time_cpu_steady"] * (1 + i)} for i, one in
             enumerate(runs(1))]  # fmt: skip
    records = [
        make_record({name: noisy if name == label else runs(1) for name in labels}, scenario=name)
        for name in scenarios
    ]
    lines = printed(*records)
    assert max(map(len, lines)) <= 80
    if not others:
        assert any(line.startswith(f"▲ {LONG} ") or f"? {LONG} " in line for line in lines)


def test_a_command_that_is_too_long_goes_on_below_so_that_it_can_be_copied() -> None:
    words = [f"--option-{number}" for number in range(12)]
    link = Command(" ".join(["./compare.sh", *words]), "more rounds")
    lines = shown(Answer(title="a", basis="b", links=(("Next", link), ("Results", "here"))))
    start = lines.index("Next     more rounds:") + 1
    command = lines[start:-1]
    assert all(line.endswith(" \\") for line in command[:-1])
    joined = " ".join(line.removesuffix("\\").strip() for line in command)
    assert joined == link.text
    assert lines[-1] == "Results  here"


def test_markdown_has_the_same_answer_as_text() -> None:
    record = make_record({"old": runs(2), "a|b <i>": runs(0.1)})
    text = markdown.render_answer(answer(compare(record)))
    assert text.startswith("### a\\|b &lt;i> against old (1 process, 4 rounds)\n")
    assert "* **▼ steady CPU 20× less** (95 %: 20×)\n" in text
    assert "| ▼ waiting | 2.03 s | 0.102 s | 20× less | 20× |\n" in text


ARGV = ("compare", "old", "new", "--rounds", "3", "-p", "2", "--results", "there", "--resume")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--rounds", "10"), "./compare.sh old new -p 2 --rounds 10"),
        (("--gate",), "./compare.sh old new -p 2 --gate"),
    ],
)
def test_a_command_is_repeated_into_a_folder_of_its_own(more: tuple[str, ...], text: str) -> None:
    assert again(ARGV, *more) == text
    assert again(("compare", "a b", "--rounds=3", "--gate"), "--gate") == (
        "./compare.sh 'a b' --gate"
    )


@pytest.mark.parametrize(
    ("steady", "option"), [(0.1, "--gate"), (4.0, "--why")], ids=["faster", "slower"]
)
def test_what_is_best_done_next_depends_on_what_was_found(steady: float, option: str) -> None:
    found = next_step(compare(make_record({"old": runs(2), "new": runs(steady)})), ARGV)
    assert found is not None
    assert found.text.endswith(option)


def test_what_is_not_certain_takes_more_rounds() -> None:
    once = compare(make_record({"old": runs(2)[:1], "new": runs(0.1)[:1]}))
    found = next_step(once, ARGV)
    assert found is not None
    assert found.text.endswith("--rounds 5")
    busy = make_record({"old": runs(2), "new": runs(0.1)})
    disturb(busy, 3)
    found = next_step(compare(busy), ARGV)
    assert found is not None
    assert found.text.endswith("--rounds 4")
    assert "idle" in found.purpose
    assert next_step(once, ("workers", "rq.toml")) is None
    assert next_step(compare(make_record({"old": runs(2)})), ARGV) is None


@pytest.mark.parametrize(("verdict", "mark"), [(failing(), "✗"), (unclear(), "?")])
def test_the_gate_has_the_last_word(verdict: GateVerdict, mark: str) -> None:
    compared = compare(make_record({"old": runs(2), "new": runs(4)}))
    lines = shown(gate_formats.answer(verdict, answer(compared), compared))
    assert lines[1].startswith(f"{mark} {gate.headline(verdict)}"[:60])
    assert not any("95 %" in line for line in lines), "its verdict is the only one"
    step = gate_formats.next_step(verdict, ARGV)
    assert step is not None
    assert step.text.endswith("--why" if verdict.failures else "--full")


def test_the_marks_of_verdicts_differ() -> None:
    assert len(set(MARKS.values())) == len(MARKS)


def test_the_headlines_end_with_how_much_later_items_certainly_are_and_where_most() -> None:
    def runs(steady: float, late: float) -> list[dict[str, float]]:
        return [
            {**times(5, 1, 1), "time_cpu_steady": steady * w, "item_latency_p99": late * w}
            for w in (0.99, 1.0, 1.01, 1.0, 0.995)
        ]

    records = [
        make_record({"a": runs(1, 0.001), "b": runs(0.1, 0.002)}, scenario="idle"),
        make_record({"a": runs(1, 0.001), "b": runs(0.1, 0.008)}, scenario="busy"),
        make_record({"a": runs(1, 1e-6), "b": runs(0.1, 3e-6)}, scenario="next-to-nothing"),
    ]
    cheaper, later = answer(statistics.compare_all(records)).headlines
    assert (cheaper.mark, cheaper.text) == ("▼", "steady CPU 10× less")
    assert (later.mark, later.text) == ("▲", "lateness p99 up to 8.0× more")
    assert later.aside == "in busy: 0.999 ms → 7.99 ms"


def test_what_ratios_of_several_scenarios_come_to_is_no_interval() -> None:
    records = [
        make_record({"old": runs(4), "new": runs(4 / by)}, scenario=str(by))
        for by in (36, 14, 28, 1.6)
    ]
    (first, *_) = answer(compare(*records)).headlines
    assert first.text == "steady CPU 36×, 28×, 14× and 1.6× less"
    more = make_record({"old": runs(4), "new": runs(2)}, scenario="two")
    (first, *_) = answer(compare(*records, more)).headlines
    assert first.text == "steady CPU up to 36× less, at least 1.6× less"


def test_what_has_runs_below_the_floor_on_both_sides_is_not_compared() -> None:
    few = [{**times(1, 0.1, 0.1), "time_cpu_steady": by} for by in (0.0, 0.0041, 0.0002, 0.0039)]
    none = [{**times(1, 0.1, 0.1), "time_cpu_steady": by} for by in (0.0, 0.0003, 0.0002, 0.0001)]
    for runs_of, why in ((few, "near 1 ms"), (none, "below 1 ms")):
        compared = compare(make_record({"old": runs_of, "new": runs_of}))
        lines = shown(answer(compared))
        assert lines[1].startswith("– steady CPU not compared ")
        assert lines[4].startswith("– waiting ")
        assert lines[4].endswith(f"{why}  not compared")
        assert next_step(compared, ARGV) is None, "more rounds would not help"
