"""Comparisons -> one table over all scenarios, and one sentence for each candidate.

What is judged is the CPU that the workers use in the steady phase; where nothing reports it, as in
a user's own dataflow, or where engines have other work in it, total CPU.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.columns import Column, Names, print_columns
from waitbench.reporting.style import STYLES

TOTAL_MARK = "*"
"""Stands beside a ratio of total CPU where others are of steady CPU."""
TOTAL_NOTE = f"{TOTAL_MARK} total CPU: the steady phase is not known, or not the same work."

DISTURBED_MARK = "†"
"""Stands beside what most rounds of a scenario say while others used the machine."""
DISTURBED_NOTE = (
    f"{DISTURBED_MARK} In most of these rounds the machine did something else, in every attempt."
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One candidate in one scenario; its ratios are to the baseline."""

    scenario: str
    label: str
    judged: Estimate | None
    """Of the workers' steady CPU, or of total CPU."""
    is_total: bool
    """Whether it is of total CPU, as the steady phase is not known, or not the same work."""
    system: Estimate | None
    real: Estimate | None
    is_disturbed: bool
    """Whether it rests mostly on rounds in which the machine did something else."""
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
        disturbed = Counter(
            line.verdict for line in found if line.label == label and line.is_disturbed
        )
        counts = ", ".join(
            f"{name} in {verdicts[name]}{_caveat(disturbed[name])}" for name in (*known, *others)
        )
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
    _print_table(found, console, with_labels=len(labels) > 1)
    if any(line.is_total for line in found):
        console.print(Text(TOTAL_NOTE))
    if any(line.is_disturbed for line in found):
        console.print(Text(DISTURBED_NOTE))
    for sentence in sentences(comparisons):
        console.print(Text(sentence))
    console.print()


def _caveat(disturbed: int) -> str:
    if not disturbed:
        return ""
    return f" (in {disturbed} the machine did something else in most rounds)"


def _line(comparison: Comparison, row: Row) -> Line:
    ratios = row.ratios
    unsupported = comparison.baseline.unsupported or row.unsupported
    return Line(
        scenario=comparison.scenario,
        label=row.label,
        judged=row.judged,
        is_total=row.judged is not None and row.judged_by == "cpu",
        is_disturbed=row.judged is not None and comparison.is_disturbed,
        system=ratios.get("system"),
        real=ratios.get("real"),
        lacks="" if ratios else "not supported" if unsupported else "not measured",
    )


def _print_table(found: Sequence[Line], console: Console, *, with_labels: bool) -> None:
    names = [Names(heading="scenario", texts=[line.scenario for line in found])]
    if with_labels:
        names.append(Names(heading="revision", texts=[line.label for line in found]))
    headings = ("steady CPU", "system", "real", "verdict")
    cells = zip(*map(_cells, found), strict=True)
    columns = [
        Column(heading=heading, cells=of_heading)
        for heading, of_heading in zip(headings, cells, strict=True)
    ]
    print_columns(names, columns, console)


def _cells(line: Line) -> tuple[Text, Text, Text, Text]:
    style = STYLES[line.judged.verdict] if line.judged else "red"
    judged = _ratio(line.judged, TOTAL_MARK if line.is_total else "")
    verdict = f"{line.verdict}{DISTURBED_MARK if line.is_disturbed else ''}"
    return judged, _ratio(line.system), _ratio(line.real), Text(verdict, style=style)


def _ratio(ratio: Estimate | None, mark: str = "") -> Text:
    if ratio is None:
        return Text("–")
    return Text(f"× {ratio.value:.3g}{mark}", style=STYLES[ratio.verdict])
