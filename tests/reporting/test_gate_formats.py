"""The gate's verdict in each of its forms."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reporting.printing import lines_of
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.reporting import gate
from waitbench.reporting.console import print_document
from waitbench.reporting.gate_formats import annotations, junit, plain, rendered
from waitbench.system.streams import printable

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


def test_all_judgements_fit_in_eighty_columns_with_the_shared_ones_first(
    many: GateVerdict,
) -> None:
    lines = lines_of(lambda output: print_document(gate.document(many), output))
    places = [line for line in lines if line and not line.startswith("new") and "  " not in line]
    assert places[:4] == [
        "2 waiting scenarios together",
        "6 working scenarios together",
        "partitioned-long-input",
        "dynamic-long-input",
    ]
    table = lines[: lines.index(next(it for it in lines if it.startswith("new in")))]
    assert max(map(len, table)) <= 80
    assert [line.split()[1] for line in table if line.startswith("new")][:3] == [
        "steady:10%", "cpu:10%", "steady-system:25%,25ms",
    ]  # fmt: skip
    assert sum(line.startswith("new") for line in table) == 20


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
