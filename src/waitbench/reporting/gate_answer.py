"""A GateVerdict -> the answer of a comparison: the gate has the last word."""

from collections.abc import Sequence
from dataclasses import replace

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.verdicts import GateOutcome
from waitbench.reporting.answer import EXPLAINING, WHY_PURPOSE, again
from waitbench.reporting.document import Answer, Command, Headline, Table
from waitbench.reporting.formats import format_count
from waitbench.reporting.gate import OUTCOME_STYLES, headline, remarks, table

_MARKS = {
    GateOutcome.PASS: "✓",
    GateOutcome.FAIL: "✗",
    GateOutcome.INCONCLUSIVE: "?",
    GateOutcome.NOT_MEASURED: "✗",
}


def details(verdict: GateVerdict) -> Table:
    """All that was asked, for a console, with the remarks below it."""
    title = f"the gate · {format_count(len(verdict.judgements), 'question', 'questions')}"
    return replace(table(verdict), title=title, notes=tuple(remarks(verdict)))


def answer(verdict: GateVerdict, comparison: Answer) -> Answer:
    """What the gate says of a comparison, in the place of what each of its ratios says."""
    shown = comparison.table
    if shown is not None and comparison.headlines:
        rows = tuple(row[:-1] for row in shown.rows)
        shown = replace(shown, header=shown.header[:-1], rows=rows)
    headlines = [
        Headline(
            text=headline(verdict),
            style=OUTCOME_STYLES[verdict.outcome],
            mark=_MARKS[verdict.outcome],
        )
    ]
    return replace(comparison, headlines=tuple(headlines), table=shown)


def next_step(verdict: GateVerdict, argv: Sequence[str]) -> Command | None:
    """What is best done now; ``None`` where there is nothing to be done, or nobody knows what."""
    if list(argv[:1]) != ["compare"]:
        return None
    if verdict.failures and not EXPLAINING.intersection(argv):
        return Command(again(argv, "--why"), WHY_PURPOSE)
    if verdict.outcome is GateOutcome.INCONCLUSIVE and "--full" not in argv:
        return Command(again(argv, "--full"), "longer runs tell smaller changes apart")
    return None
