"""A search on a console: each step as it goes, and at the end what it found."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.bisection import End
from waitbench.analysis.bisection_stages import Searched, Stage
from waitbench.analysis.bisection_steps import Step, StepAnswer
from waitbench.reporting.bisection import texts

_STYLES = {End.FOUND: "green bold", End.RANGE: "yellow bold", End.NO_CHANGE: "bold"}


@dataclass(frozen=True)
class Steps:
    """Says how far a search is."""

    console: Console
    quiet: bool

    def begin(self, stage: Stage, step: Step) -> None:
        """A step is about to be measured."""
        left = sum(1 for point in range(len(stage.points)) if point not in stage.missing)
        number = f"step {step.number + 1}, {texts.points(stage, left)}"
        self._say(f"{number}: {texts.step_text(stage, step)}", "bold")

    def lack(self, stage: Stage, point: int, why: str) -> None:
        """A point cannot be measured; another one takes its place."""
        self._say(f"{stage.labels[point]} cannot be measured: {why}", "yellow")

    def end(self, answer: StepAnswer) -> None:
        """A step has its answer."""
        self._say(texts.answer_text(answer), "")

    def _say(self, text: str, style: str) -> None:
        if not self.quiet:
            self.console.print(Text(text, style=style), soft_wrap=True)


def print_searched(searched: Searched, console: Console) -> None:
    """Every step, every finding, the culprits; and the headline last, where the eye ends."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, heading in enumerate(texts.STEP_HEADER):
        last = place == len(texts.STEP_HEADER) - 1
        table.add_column(heading, justify="right" if last else "left", overflow="fold")
    for row in texts.steps(searched):
        table.add_row(*map(Text, row))
    if table.row_count:
        console.print(table)
    for sentence in (*texts.findings(searched), *texts.remarks(searched)):
        console.print(Text(sentence))
    for _, _, commit in texts.culprits(searched):
        for line in texts.about(commit):
            console.print(Text(f"  {line}"), soft_wrap=True)
    for command in texts.to_repeat(searched):
        console.print(Text(f"To measure it again: {command}"), soft_wrap=True)
    console.print(Text(texts.headline(searched), style=_STYLES.get(searched.end, "yellow bold")))
