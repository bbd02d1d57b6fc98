"""The gate's verdict in each of its forms."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gate_runs import crashing, failing, forgiven, unclear
from tests.reporting.made_up import many
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.model.verdicts import GateOutcome
from waitbench.reporting.answer import findings
from waitbench.reporting.document import Heading, Table
from waitbench.reporting.gate_formats import junit, plain, rendered
from waitbench.reporting.markdown import render_table

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


FAILED = FailedRuns(label="new", scenario="waiting", count=2, message="exit code 1")


@pytest.mark.parametrize("made", [failing, forgiven, unclear, crashing, many])
def test_every_form_agrees_with_the_exit_code(made: Callable[[], GateVerdict]) -> None:
    base = made()
    changed = [
        base,
        replace(base, inconclusive_passes=True),
        replace(base, failed_runs=(FAILED,)),
        replace(base, not_asked=(("new in waiting", "lost"),)),
        replace(base, judgements=()),
    ]
    for verdict in changed:
        passes, outcome, all_findings = (
            verdict.exit_code == 0,
            verdict.outcome,
            findings((), verdict),
        )
        data = plain(all_findings, verdict)
        assert (data["outcome"], data["exit_code"]) == (outcome.value, int(verdict.exit_code))
        suite = ElementTree.fromstring(junit(all_findings, verdict))
        bad = int(suite.get("failures") or 0) + int(suite.get("errors") or 0)
        assert bool(bad) is not passes
        assert (suite.get("failures") == "0") is (outcome is not GateOutcome.FAIL)
        first = rendered(all_findings).splitlines()[0]
        assert first.startswith("### ")
        assert f" {outcome.value.upper()}: " in first


def test_markdown_has_notes_as_text() -> None:
    verdict = forgiven()
    text = rendered(
        findings((), replace(verdict, not_asked=(("a|b <i> in waiting", "unsupported"),)))
    )
    assert "\n* ! new: wake-ups while waiting 12× more in waiting, but idle CPU" in text
    assert "\n* – a\\|b &lt;i> in waiting: not asked, as the baseline does not" in text


def test_json_has_the_documented_keys_and_no_others() -> None:
    verdict = failing()
    data = json.loads(json.dumps(plain(findings((), verdict), verdict)))
    documented = DOCUMENTED.read_text("utf-8")
    for key in (*data, *data["judgements"][0], *data["notes"][0]):
        assert f"`{key}`" in documented, key
    assert "passed" not in data, "the outcome has four values"


def test_text_in_markdown_cannot_end_a_cell_nor_begin_a_tag_nor_command_a_terminal() -> None:
    text = render_table(Table("t\x1b", [(Heading("a\x1b"), ["x|y\n<script>\x1b"])]))
    assert text == "**t\ufffd**\n\n| a\ufffd |\n| --- |\n| x\\|y &lt;script>\ufffd |\n"
