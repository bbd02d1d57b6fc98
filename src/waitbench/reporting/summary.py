"""Comparisons -> one table over all scenarios, and one sentence for each candidate.

What is judged is the CPU that the workers use in the steady phase; where nothing reports it, as in
a user's own dataflow, total CPU.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.statistics import Comparison, Estimate, Row, Verdict
from waitbench.reporting.style import STYLES, shorten

_TOTAL_MARK = "*"
_GAP = 2
_LABEL_WIDTH = 12
"""A candidate's label has at least so many columns, should it need them."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One candidate in one scenario; its ratios are to the baseline."""

    scenario: str
    label: str
    judged: Estimate | None
    """Of the workers' steady CPU, or of total CPU."""
    is_total: bool
    """Whether it is of total CPU, because the steady phase is not known."""
    system: Estimate | None
    real: Estimate | None
    lacks: str
    """Why nothing could be judged; empty where something could."""

    @property
    def verdict(self) -> str:
        """What the judged ratio says, or why there is none."""
        return self.judged.verdict.value if self.judged else self.lacks


def lines(comparisons: Sequence[Comparison]) -> tuple[Line, ...]:
    """One line for every candidate of every scenario."""
    return tuple(
        _line(comparison, row) for comparison in comparisons for row in comparison.rows[1:]
    )


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Says of each candidate in how many scenarios it is faster, slower, the same, or neither."""
    found = lines(comparisons)
    said = []
    for label in dict.fromkeys(line.label for line in found):
        verdicts = Counter(line.verdict for line in found if line.label == label)
        known = [verdict.value for verdict in Verdict if verdict.value in verdicts]
        others = sorted(set(verdicts).difference(known))
        counts = ", ".join(f"{name} in {verdicts[name]}" for name in (*known, *others))
        scenarios = "1 scenario" if verdicts.total() == 1 else f"{verdicts.total()} scenarios"
        said.append(f"{label} against {comparisons[0].baseline.label} in {scenarios}: {counts}.")
    return said


def print_summary(comparisons: Sequence[Comparison], console: Console) -> None:
    """Prints the table and the sentences; nothing where there is no candidate."""
    found = lines(comparisons)
    if not found:
        return
    labels = tuple(dict.fromkeys(line.label for line in found))
    candidate = labels[0] if len(labels) == 1 else "all"
    against = f"{candidate} against {comparisons[0].baseline.label}"
    console.print(Text(f"all scenarios · {against} · judged by steady CPU", style="bold"))
    console.print(_table(found, with_labels=len(labels) > 1, width=console.width))
    if any(line.is_total for line in found):
        console.print(Text(f"{_TOTAL_MARK} total CPU: the steady phase is not known."))
    for sentence in sentences(comparisons):
        console.print(Text(sentence))
    console.print()


def _line(comparison: Comparison, row: Row) -> Line:
    ratios = row.ratios
    is_total = "steady" not in ratios and "cpu" in ratios
    unsupported = comparison.baseline.unsupported or row.unsupported
    return Line(
        scenario=comparison.scenario,
        label=row.label,
        judged=ratios.get("cpu" if is_total else "steady"),
        is_total=is_total,
        system=ratios.get("system"),
        real=ratios.get("real"),
        lacks="" if ratios else "not supported" if unsupported else "not measured",
    )


def _table(found: Sequence[Line], *, with_labels: bool, width: int) -> Table:
    headings = ("steady CPU", "system", "real", "verdict")
    cells = [_cells(line) for line in found]
    taken = (max(map(len, column)) + _GAP for column in zip(headings, *cells, strict=True))
    names = _names(found, width - sum(taken), with_labels=with_labels)
    table = Table(box=None, padding=(0, _GAP, 0, 0), collapse_padding=True)
    for heading in ("scenario", "revision", *headings) if with_labels else ("scenario", *headings):
        table.add_column(heading, no_wrap=True)
    for name, line_cells in zip(names, cells, strict=True):
        table.add_row(*map(Text, name), *line_cells)
    return table


def _cells(line: Line) -> tuple[Text, Text, Text, Text]:
    style = STYLES[line.judged.verdict] if line.judged else "red"
    judged = _ratio(line.judged, _TOTAL_MARK if line.is_total else "")
    return judged, _ratio(line.system), _ratio(line.real), Text(line.verdict, style=style)


def _ratio(ratio: Estimate | None, mark: str = "") -> Text:
    if ratio is None:
        return Text("–")
    return Text(f"× {ratio.value:.3g}{mark}", style=STYLES[ratio.verdict])


def _names(found: Sequence[Line], room: int, *, with_labels: bool) -> list[tuple[str, ...]]:
    """Scenario and, if asked for, label, shortened to what fits into so many columns."""
    if not with_labels:
        return [(shorten(line.scenario, room - _GAP),) for line in found]
    room -= 2 * _GAP
    scenario_width = max(len(line.scenario) for line in found)
    label_width = max(len(line.label) for line in found)
    label_width = min(label_width, max(_LABEL_WIDTH, room - scenario_width))
    return [
        (shorten(line.scenario, room - label_width), shorten(line.label, label_width))
        for line in found
    ]
