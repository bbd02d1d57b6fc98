"""What reports say of committed results, of made-up verdicts, byte for byte.

A change of words shows up in review as a change of these files. ``UPDATE_FROZEN=1`` writes them.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

from tests import gate_runs
from tests.criteria import parse
from tests.frozen.checking import STYLES, check, page_text, said_by
from tests.gate_runs import record_of, rounds, scaled, verdict_of, waiting
from tests.records import outcome
from tests.reporting.made_up import page_of
from tests.reporting.printing import lines_of
from tests.reporting.test_console import SHOWN
from tests.reporting.test_page import PAGES
from tests.reporting.test_page import gate as asked
from tests.reporting.test_views import findings as made_up
from tests.reporting.test_views import on_console
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS, Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.model.metrics import METRICS
from waitbench.reporting import gate_formats, html
from waitbench.reporting.findings import Findings, findings
from waitbench.system.paths import ROOT

SAMPLES = ROOT / "docs" / "samples"
FOLDERS = sorted(str(path.parent.relative_to(SAMPLES)) for path in SAMPLES.rglob("comparison.json"))
BASE = rounds(1, 0.5)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    yield


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_console_of_a_sample(folder: str) -> None:
    check(f"samples/{folder}/console-80.txt", said_by("report", SAMPLES / folder))


def test_the_markdown_of_a_sample(tmp_path: Path) -> None:
    said_by("report", SAMPLES / "waiting", "--markdown", tmp_path / "it.md")
    check("samples/waiting/tables.md", (tmp_path / "it.md").read_text("utf-8"))


def test_a_page_but_for_its_styles_and_script() -> None:
    base = rounds(1, 0.5, 6)
    record = record_of(base, scaled(base, system=3.0))
    record.add(outcome("new", 7, "failed", message="exit code 1", log="Traceback\nboom"))
    shown = html.render(page_of(record, **asked("system:10%", "cpu:900%")))
    check("page.html", STYLES.sub(r"\1\3", shown))


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows_above_its_runs(name: str) -> None:
    check(f"pages/{name}.txt", page_text(PAGES[name]()))


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_console_shows(name: str) -> None:
    check(f"console/{name.replace(' ', '-')}-80.txt", "\n".join([*lines_of(SHOWN[name]), ""]))


def accepted() -> GateVerdict:
    """A regression that is accepted, by one of two entries."""
    entry = Acceptance(
        criterion="system:10%", scenario="wait*", reason="It does more.", until=date(2999, 1, 2)
    )
    entries = (entry, structs.replace(entry, scenario="other", reason="It was needed."))
    record = record_of(BASE, scaled(BASE, system=1.5))
    return gate.conclude([record], parse(["system:10%"], METRICS), acceptances=entries)


def verdicts() -> dict[str, GateVerdict]:
    """A verdict of each outcome, and more."""
    return {
        "accepted": accepted(),
        "fail": gate_runs.failing(),
        "pass": verdict_of(record_of(BASE, BASE), criteria=["system:10%", "cpu:50%"]),
        "explained": gate_runs.forgiven(),
        "inconclusive": gate_runs.unclear(),
        "inconclusive-passes": replace(gate_runs.unclear(), inconclusive_passes=True),
        "not-measured": gate_runs.crashing(),
        "defaults": gate.conclude([*map(waiting, ("one", "two"))], DEFAULTS),
    }


VERDICTS = verdicts()


@pytest.mark.parametrize("name", VERDICTS)
def test_the_results_and_notes_of_a_verdict(name: str) -> None:
    verdict = VERDICTS[name]
    said = json.dumps(gate_formats.as_json(findings((), verdict), verdict), indent=1)
    check(f"gate/{name}.json", f"{said}\n")


def test_an_accepted_regression_is_no_failure_for_junit() -> None:
    found = findings((), VERDICTS["accepted"])
    check("gate/accepted.xml", gate_formats.junit(found, VERDICTS["accepted"]))


FORMS: dict[str, Callable[[Findings], str]] = {
    "console-80.txt": lambda found: on_console(found, 80) + "\n",
    "markdown.md": gate_formats.render_markdown,
    "junit.xml": lambda found: gate_formats.junit(found, VERDICTS["fail"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_made_up_results_and_notes_in_each_form(form: str) -> None:
    check(f"views/{form}", FORMS[form](made_up(has_gate=True)))
