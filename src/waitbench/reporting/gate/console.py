"""The gate's verdict on a console."""

from collections.abc import Callable, Sequence

from rich.console import Console, JustifyMethod
from rich.text import Text

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.verdicts import GateOutcome
from waitbench.reporting.columns import Column, Names, arrange
from waitbench.reporting.gate.texts import (
    by_place,
    criterion_text,
    findable_text,
    headline,
    ratio_text,
    remarks,
    verdict_text,
)
from waitbench.reporting.style import STYLES

_STYLES = {
    GateOutcome.PASS: "green bold",
    GateOutcome.FAIL: "red bold",
    GateOutcome.INCONCLUSIVE: "yellow bold",
    GateOutcome.NOT_MEASURED: "red bold",
}
_LEAST = 9
"""Labels keep so many characters: more would not leave room for the rest in 80 columns."""


def print_verdict(verdict: GateVerdict, console: Console) -> None:
    """The judgements of each place, the remarks, and the headline last, where the eye ends."""
    if verdict.judgements:
        _print_judgements(verdict, console)
    for remark in remarks(verdict):
        console.print(Text(remark))
    console.print(Text(headline(verdict), style=_STYLES[verdict.outcome]))


def _print_judgements(verdict: GateVerdict, console: Console) -> None:
    places = by_place(verdict.judgements)
    judgements = [judgement for found in places.values() for judgement in found]
    labels = Names(heading="", texts=[each.label for each in judgements], least=_LEAST)
    for block in arrange([labels], _columns(judgements, verdict), console.width):
        block.print_heading(console)
        end = 0
        for place, found in places.items():
            # A row of its own: its name would not fit beside the rest in 80 columns.
            console.print(Text(place, style="bold"))
            begin, end = end, end + len(found)
            block.print_rows(console, range(begin, end))


def _columns(judgements: Sequence[Judgement], verdict: GateVerdict) -> list[Column]:
    def column(
        heading: str, say: Callable[[Judgement], str], justify: JustifyMethod = "left"
    ) -> Column:
        return Column(heading=heading, cells=[Text(say(j)) for j in judgements], justify=justify)

    verdicts = [
        Text(verdict_text(j), style="red bold" if j in verdict.failures else STYLES[j.verdict])
        for j in judgements
    ]
    return [
        column("criterion", criterion_text),
        column("ratio (bounds)", ratio_text),
        column("rounds", lambda judgement: str(judgement.rounds), "right"),
        Column(heading="verdict", cells=verdicts),
        column("would have\nfound", findable_text, "right"),
    ]
