"""The gate's verdict in each of its forms."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gate_runs import record_of, rounds, scaled, verdict_of
from tests.reporting.printing import lines_of
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.reporting import gate
from waitbench.reporting.console import print_cells
from waitbench.reporting.gate_formats import annotations, junit, plain, rendered
from waitbench.system.streams import printable

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


def test_all_judgements_fit_in_eighty_columns_with_the_shared_ones_first(
    many: GateVerdict,
) -> None:
    lines = lines_of(lambda output: print_cells(gate.table(many), output))
    assert max(map(len, lines)) <= 80
    assert lines[1] == "2 waiting scenarios together"
    assert "? steady system time" in lines[2], "what is open first"
    assert "partitioned-long-input" in lines, "scenarios are named above their rows"
    assert sum(line[:2] in ("✓ ", "▼ ", "? ") for line in lines) == 20


def test_a_console_has_what_decides_whole_and_of_all_else_the_number(
    failing: GateVerdict, many: GateVerdict
) -> None:
    def shown(verdict: GateVerdict) -> list[str]:
        (table, said) = gate.decided(verdict), gate.said(verdict)
        return [*lines_of(lambda output: print_cells(table, output)), *said]

    heading, place, row, holds, *_ = shown(failing)
    assert heading.split() == ["cost", "change", "certainly", "allowed"]
    assert (place, row.split()[:3]) == ("waiting", ["✗", "system", "time"])
    assert row.endswith("+10 %")
    assert holds == "✓ 1 other holds (-v shows it)"
    assert "✓ 19 others hold (-v shows them)" in shown(many)


def test_of_a_pass_a_console_has_what_fell_and_what_is_nearest_to_its_limit() -> None:
    base = rounds(1, 0.5)
    fallen = record_of(base, scaled(base, system=0.5, user=1.01))
    passed = verdict_of(fallen, criteria=["system:50%", "user:90%", "real:90%"])
    lines = lines_of(lambda output: print_cells(gate.decided(passed), output))
    assert [line[:13] for line in lines[2:]] == ["▼ system time", "✓ user time  "]
    assert gate.said(passed)[0] == "✓ 1 other holds (-v shows it)"


def test_markdown_lists_the_remarks_as_text(forgiven: GateVerdict) -> None:
    hostile = replace(forgiven, unsupported=("a|b <i> in waiting",))
    text = rendered(hostile)
    assert "\n* new in waiting: wake-ups while waiting 12× more, but" in text
    assert "\n* a\\|b &lt;i> in waiting: not asked, as the baseline does not support it." in text


def test_neither_markdown_nor_junit_holds_control_characters(crashing: GateVerdict) -> None:
    hostile = "a\x1b[31m\x07\x00\u202eb"
    unclean = tuple(
        replace(one, place=hostile, label=hostile, why_given_up=hostile)
        for one in crashing.judgements
    )
    verdict = replace(crashing, judgements=unclean, left_out=(hostile,))
    suite = ElementTree.fromstring(junit(verdict))
    (error, *_) = suite.iter("error")
    shown = "a\ufffd[31m\ufffd\ufffd\ufffdb"
    assert error.get("message") == f"No answer for {shown}: {shown}."
    assert printable(rendered(verdict)) == rendered(verdict)


@pytest.mark.parametrize("name", ["failing", "unclear", "crashing"])
def test_junit_and_annotations_have_each_reason_in_the_same_words(
    name: str, request: pytest.FixtureRequest
) -> None:
    failed = FailedRuns(label="new", scenario="waiting", count=2, message="exit code 1")
    verdict = replace(request.getfixturevalue(name), failed_runs=(failed,), lost=("new in idle",))
    annotated = "\n".join(annotations(verdict)).replace("%25", "%")
    cases = ElementTree.fromstring(junit(verdict)).iter()
    messages = [case.get("message") for case in cases]
    for reason in gate.reasons(verdict):
        if not reason.startswith("--rounds"):
            assert reason in annotated
            assert reason in messages


def test_annotations_escape_what_would_end_them(failing: GateVerdict) -> None:
    judgement = replace(failing.judgements[0], place="a:b,c%", label="x\ny\r100%:,")
    (line,) = annotations(replace(failing, judgements=(judgement,)))
    title = "a%3Ab%2Cc%25%3A x%0Ay%0D100%25%3A%2C system%3A10%25"
    assert line.startswith(f"::error title={title}::x%0Ay%0D100%25:,: system time ")


def test_json_has_the_documented_keys_and_no_others(failing: GateVerdict) -> None:
    data = json.loads(json.dumps(plain(failing)))
    documented = DOCUMENTED.read_text("utf-8")
    for key in (*data, *data["judgements"][0]):
        assert f"`{key}`" in documented, key
    assert "passed" not in data, "the outcome has four values"
