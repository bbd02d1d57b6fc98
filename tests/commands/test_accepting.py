"""``accepted.toml``: how it is read, and what every form of the verdict says of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import Compare
from tests.gate_runs import record_of, rounds, scaled
from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines import METRICS
from waitbench.model.errors import UsageError
from waitbench.pipeline import gating
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.gating import Gate
from waitbench.reporting.answer import findings
from waitbench.reporting.gate_formats import junit, plain, rendered

TODAY = date(2026, 11, 23)
ENTRY = """
[[accepted]]
criterion = "system:10%"
scenario = "wait*"
reason = "It does more."
until = 2027-03-31
"""
READ = Acceptance(
    criterion="system:10%", scenario="wait*", reason="It does more.", until="2027-03-31"
)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], tuple[Acceptance, ...]]:
    def read(text: str) -> tuple[Acceptance, ...]:
        path = tmp_path / "accepted.toml"
        path.write_text(text)
        return gating.read_accepted(path, TODAY)

    return read


Read = Callable[[str], tuple[Acceptance, ...]]


def test_an_entry_has_its_criterion_reason_and_end(read: Read) -> None:
    assert read(ENTRY) == (READ,)
    assert read("") == ()
    for until, holds in (("2026-11-23", True), ("2026-11-22", False)):
        assert bool(read(ENTRY.replace("2027-03-31", until))) is holds, "until the end of its day"
    (metric,) = read(ENTRY.replace("system:10%", "rss"))
    assert metric.criterion == "rss"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"It does more."', '" "', r"at `\$\.accepted\[0\]\.reason`"),
        ("until =", "untill =", r"unknown field `untill` - at `\$\.accepted\[0\]`"),
        ("system:10%", "system:10", "'system:10' is not METRIC:PERCENT%"),
        ("scenario =", "scenario", "line"),
    ],
)
def test_what_is_wrong_is_said_with_its_entry(
    before: str, after: str, said: str, read: Read
) -> None:
    with pytest.raises(UsageError, match=said):
        read(ENTRY.replace(before, after))


def test_a_file_that_is_not_there_is_said_and_one_that_is_is_for_the_gate(
    run_compare: Compare, tmp_path: Path
) -> None:
    (tmp_path / "accepted.toml").write_text(ENTRY)
    done = run_compare("v0.16.0", "v0.16.1", "--accepted", tmp_path / "accepted.toml")
    assert (done.returncode, "--accepted are for the gate" in done.stderr) == (2, True), done.stderr
    with pytest.raises(UsageError, match=r"--accepted .*none.toml' cannot be read: No such file"):
        gating.read_accepted(tmp_path / "none.toml")


def test_settings_carry_all_that_is_asked_to_other_machines_and_to_merge() -> None:
    criteria = (*DEFAULTS, *parse(["cpu:10%"], METRICS))
    asked = Gate(criteria=criteria, most_rounds=10, acceptances=(READ,))
    settings = json.loads(json.dumps(asked.as_settings()))
    found = Gate.read_settings({"gate": settings})
    assert (found.criteria, found.acceptances) == (asked.criteria, asked.acceptances)


def test_every_form_of_the_verdict_has_the_reason() -> None:
    base = rounds(1, 0.5)
    asked = Gate(criteria=parse(["system:10%"], METRICS), most_rounds=10)
    verdict = replace(asked, acceptances=(READ,)).conclude(
        [record_of(base, scaled(base, system=1.5))]
    )
    found = findings((), verdict)
    assert found.notes[0].text == "PASS: 1 question; 1 regression accepted"
    data = plain(found, verdict)
    assert data["judgements"][0]["accepted"]
    assert (data["outcome"], data["judgements"][0]["verdict"]) == ("pass", "slower")
    for text in (junit(found, verdict), rendered(found), json.dumps(data)):
        assert "It does more." in text
    suite = ElementTree.fromstring(junit(found, verdict))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    shown = rendered(found).partition("<details>")[0]
    assert "| ! system time | 1.5× more |" in shown
