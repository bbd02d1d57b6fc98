"""Every view shows the same results and the same notes: none has figures or words of its own."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.text import Text

from tests.criteria import parse
from tests.reporting.printing import lines_of
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import MetricResult, Note
from waitbench.analysis.statistics import BELOW_RESOLUTION
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.verdicts import Estimate, Verdict
from waitbench.reporting import forest, html
from waitbench.reporting.charts import draw_table
from waitbench.reporting.console import print_report, print_tables
from waitbench.reporting.document import Report, Table
from waitbench.reporting.findings import (
    Findings,
    gate_table,
    question_table,
    result_table,
    summarize,
)
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
(IDLE,) = parse(["idle:10%"], METRICS)
UNKNOWN = {"before": None, "after": None}
ANSWERS = (
    *RESULTS[: len(VERDICTS)],
    result(Verdict.EXPLAINED, "scenario-4", **UNKNOWN),
    result(Verdict.NOT_MEASURED, "scenario-5", **UNKNOWN),
)
JUDGEMENTS = tuple(Judgement(**{**vars(it), "criterion": IDLE, "records": ()}) for it in ANSWERS)
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
        verdict=GateVerdict(judgements=JUDGEMENTS) if has_gate else None,
        notes=NOTES,
    )


def on_console(data: Findings, width: int = 200) -> str:
    lines = lines_of(lambda to: print_report(summarize(data), to), width)
    if data.verdict is not None:
        lines += lines_of(lambda to: print_tables([question_table(data)], to), width)
    return "\n".join(lines)


def table(data: Findings) -> Table:
    if data.verdict is None:
        return result_table(data, data.results, "costs")
    return gate_table(data, data.judgements, "asked")


def on_page(data: Findings) -> str:
    tables = [table(data)]
    shown = Report(title=data.title, notes=data.distinct_notes, tables=tables)
    return re.sub(r"<[^>]+>", " ", html.render(shown))


def in_chart(data: Findings) -> str:
    figure = draw_table(table(data))
    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("has_gate", [True, False])
@pytest.mark.parametrize("view", [on_page, in_chart])
def test_a_page_and_a_chart_have_the_figures_of_the_other_views(
    view: Callable[[Findings], str], has_gate: bool
) -> None:
    """Those are in tests/frozen/expected/views."""
    data = findings(has_gate=has_gate)
    shown = view(data)
    for result in data.judgements or data.results:
        texts = [forest.mark_of(result), forest.change_of(result), forest.interval_of(result)]
        if view is on_page:
            texts += [forest.allowed_of(result)] if has_gate else []
            texts += [] if has_gate else [forest.before_of(result), forest.after_of(result)]
        assert [text for text in texts if text not in shown] == []
    assert view is in_chart or all(note.text in shown for note in data.distinct_notes)
