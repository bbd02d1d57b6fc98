"""The gate's verdict on a console."""

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.reporting.gate.texts import headline, ratio_text, remarks, verdict_text
from waitbench.reporting.style import STYLES


def print_verdict(verdict: GateVerdict, console: Console) -> None:
    """Tables of the judgements, the remarks, and the headline last, where the eye ends."""
    label_width = max((len(judgement.label) for judgement in verdict.judgements), default=0)
    for scenario, judgements in groupby(verdict.judgements, key=lambda j: j.scenario):
        # One table a scenario: its name would not fit beside the rest in 80 columns.
        table = Table(
            title=Text(scenario, style="bold"),
            title_justify="left",
            box=None,
            padding=(0, 2, 0, 0),
            show_header=False,
        )
        for width in (label_width, 8, 21, 9, 0):
            table.add_column(min_width=width, no_wrap=True, overflow="ellipsis")
        for judgement in judgements:
            table.add_row(*_cells(judgement, fails=judgement in verdict.failures))
        console.print(table)
    for remark in remarks(verdict):
        console.print(Text(remark))
    style = "red bold" if verdict.failures else "green bold"
    console.print(Text(headline(verdict), style=style))


def _cells(judgement: Judgement, *, fails: bool) -> list[Text]:
    style = "red bold" if fails else STYLES[judgement.verdict]
    return [
        Text(judgement.label),
        Text(judgement.criterion.metric.name),
        Text(ratio_text(judgement)),
        Text(f"{judgement.rounds} rounds"),
        Text(verdict_text(judgement), style=style),
    ]
