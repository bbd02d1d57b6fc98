"""Every view shows the same results and the same notes: none has figures or words of its own."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.text import Text
from msgspec import structs

from tests.gate_runs import failing
from tests.reporting.printing import lines_of
from waitbench.analysis.results import Note
from waitbench.analysis.statistics import BELOW_RESOLUTION, MetricResult
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.model.verdicts import Verdict
from waitbench.reporting import forest, gate_formats, html, markdown
from waitbench.reporting.answer import Findings, answer, costs, details, gate_table
from waitbench.reporting.charts import forest as drawing
from waitbench.reporting.console import print_answer, print_tables
from waitbench.reporting.document import Page, Table
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.notes import CHANGE, OUTCOME, WORSE

VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.WITHIN_MARGIN, Verdict.INCONCLUSIVE)
RATIOS = {
    Verdict.SLOWER: (36.0, 31.0, 39.0),
    Verdict.FASTER: (0.123, 0.1, 0.15),
    Verdict.WITHIN_MARGIN: (1.012, 0.987, 1.034),
    Verdict.INCONCLUSIVE: (1.13, 0.91, 1.42),
    Verdict.EXPLAINED: (4.7, 4.1, 5.2),
}


def result(verdict: Verdict | None, place: str, **more: Any) -> MetricResult:
    ratio = RATIOS.get(verdict) if verdict else None
    known: dict[str, Any] = {
        "scenario": place, "scenarios": (place,), "revision": "new", "metric": BY_NAME["idle"],
        "before": Estimate(0.5, 0.4, 0.6, 5), "after": Estimate(0.7, 0.6, 0.8, 5),
        "ratio": ratio and Estimate(*ratio, 5), "rounds": 5, "verdict": verdict, "judged": True,
    }  # fmt: skip
    return MetricResult(**{**known, **more})


RESULTS = (
    *(result(verdict, f"scenario-{place}") for place, verdict in enumerate(VERDICTS)),
    result(None, "scenario-near", why_not=BELOW_RESOLUTION),
    result(None, "scenario-lost", why_not="not supported"),
)
JUDGEMENTS = tuple(
    result(verdict, f"scenario-{place}", criterion="idle:10%", margin=0.1, before=None, after=None)
    for place, verdict in enumerate((*VERDICTS, Verdict.EXPLAINED, Verdict.NOT_MEASURED))
)
NOTES = tuple(
    Note(kind=kind, level=level, text=f"what is said of {kind}", scenario="scenario-0")
    for kind, level in (
        (OUTCOME, "✗"), (CHANGE, "▲"), (WORSE, "▲"), ("failed-runs", "✗"), ("lost", "✗"),
        ("unfinished", "?"), ("explained", "!"), ("accepted", "!"), ("disturbed", "!"),
        ("same-build", "!"), ("unsupported", "–"), ("left-out", "–"), ("holds", "✓"),
    )
)  # fmt: skip


def findings(*, has_gate: bool) -> Findings:
    return Findings(
        labels=("old", "new"),
        basis="5 rounds",
        results=RESULTS,
        judgements=JUDGEMENTS if has_gate else None,
        notes=NOTES,
    )


def on_console(found: Findings, width: int = 200) -> str:
    lines = lines_of(lambda to: print_answer(answer(found), to), width)
    if found.judgements is not None:
        lines += lines_of(lambda to: print_tables([details(found)], to), width)
    return "\n".join(lines)


def in_markdown(found: Findings) -> str:
    if found.judgements is None:
        return markdown.render_answer(answer(found))
    return gate_formats.rendered(found)


def table(found: Findings) -> Table:
    colours = colours_of(found.labels)
    if found.judgements is None:
        return costs(found, found.results, "costs", colours)
    return gate_table(found, found.judgements, "asked", colours)


def on_page(found: Findings) -> str:
    tables = [table(found)]
    shown = Page(title=found.title, facts=(), notes=found.shown, tables=tables, sections=())
    return re.sub(r"<[^>]+>", " ", html.render(shown))


def in_chart(found: Findings) -> str:
    figure = drawing.draw(table(found))
    return "\n".join(text.get_text() for text in figure.findobj(Text))


VIEWS = {"console": on_console, "markdown": in_markdown, "page": on_page, "chart": in_chart}


CASES = [*((view, True) for view in VIEWS), *((view, False) for view in ("page", "chart"))]
"""Without a gate, the console and Markdown have the matrices; see test_four_figures.py."""


@pytest.mark.parametrize(("view", "has_gate"), CASES)
def test_every_view_has_the_same_figures(view: str, has_gate: bool) -> None:
    found = findings(has_gate=has_gate)
    shown = VIEWS[view](found)
    for one in found.judgements or found.results:
        texts = [forest.mark_of(one), forest.change_of(one), forest.interval_of(one)]
        if view != "chart":
            texts += [forest.allowed_of(one)] if has_gate else []
            texts += [] if has_gate else [forest.before_of(one), forest.after_of(one)]
        assert [text for text in texts if text not in shown] == []


@pytest.mark.parametrize("view", ["console", "markdown", "page"])
def test_every_view_has_every_note_in_the_same_words(view: str) -> None:
    shown = VIEWS[view](findings(has_gate=True))
    assert [one.text for one in NOTES if f"{one.level} {one.text}" not in " ".join(shown.split())
            and not (view != "console" and one.text in shown)] == []  # fmt: skip


HOSTILE = "a\x1b[31m\x1b]0;title\x07\r\x00\x9b2J\x7f\u202eb"


def hostile() -> Findings:
    """Those of a gate whose names and notes are of anybody."""
    found = findings(has_gate=True)
    named = {"scenario": HOSTILE, "revision": HOSTILE}
    return replace(
        found,
        labels=("old", HOSTILE),
        judgements=[structs.replace(one, **named) for one in found.judgements or ()],
        notes=[structs.replace(one, text=HOSTILE, **named) for one in found.notes],
    )


def in_junit(found: Findings) -> str:
    return gate_formats.junit(found, failing())


@pytest.mark.parametrize("view", [*VIEWS.values(), in_junit], ids=lambda view: view.__name__)
def test_no_view_has_control_characters(view: Callable[[Findings], str]) -> None:
    shown = view(hostile())
    assert "\ufffd" in shown
    assert [one for one in shown if not one.isprintable() and one not in "\n\u200b"] == []
