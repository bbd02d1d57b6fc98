"""The gate's verdict on a console."""

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.reporting.gate.texts import (
    by_place,
    criterion_text,
    findable_text,
    headline,
    ratio_text,
    remarks,
    verdict_text,
)
from waitbench.reporting.style import STYLES, shorten

_COLUMNS: tuple[tuple[str, int, JustifyMethod], ...] = (
    ("criterion", 17, "left"),
    ("ratio (bounds)", 19, "left"),
    ("rounds", 6, "right"),
    ("verdict", 9, "left"),
    ("would have found", 10, "right"),
)
"""Heading, width and justification of each column after that of the labels."""
_GAP = 2


def print_verdict(verdict: GateVerdict, console: Console) -> None:
    """The judgements of each place, the remarks, and the headline last, where the eye ends."""
    judgements = verdict.judgements
    if judgements:
        others = sum(width + _GAP for _, width, _ in _COLUMNS)
        longest = max(len(judgement.label) for judgement in judgements)
        label_width = max(4, min(longest, console.width - others))
        heads = _table(label_width)
        heads.add_row("", *(heading for heading, _, _ in _COLUMNS), style="italic")
        console.print(heads)
        for place, found in by_place(judgements).items():
            # A row of its own: its name would not fit beside the rest in 80 columns.
            console.print(Text(place, style="bold"))
            table = _table(label_width)
            for judgement in found:
                table.add_row(*_cells(judgement, label_width, verdict))
            console.print(table)
    for remark in remarks(verdict):
        console.print(Text(remark))
    style = "red bold" if not verdict.passed else "yellow bold" if verdict.open else "green bold"
    console.print(Text(headline(verdict), style=style))


def _table(label_width: int) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=False)
    table.add_column(width=label_width)
    for _, width, justify in _COLUMNS:
        table.add_column(width=width, justify=justify)
    return table


def _cells(judgement: Judgement, label_width: int, verdict: GateVerdict) -> list[Text]:
    fails = judgement in verdict.failures
    _, criterion_width, _ = _COLUMNS[0]
    return [
        Text(shorten(judgement.label, label_width)),
        Text(shorten(criterion_text(judgement), criterion_width)),
        Text(ratio_text(judgement)),
        Text(str(judgement.rounds)),
        Text(verdict_text(judgement), style="red bold" if fails else STYLES[judgement.verdict]),
        Text(findable_text(judgement)),
    ]
