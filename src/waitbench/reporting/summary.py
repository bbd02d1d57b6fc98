"""Comparisons -> one table over all scenarios, and one sentence for each candidate.

What is judged is the CPU that the workers use in the steady phase; where nothing reports it, as in
a user's own dataflow, or where engines have other work in it, total CPU.
"""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from waitbench.analysis.statistics import Comparison, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.console import STYLES, print_tables
from waitbench.reporting.document import Cell, Heading, Table, Word, ratio_cell
from waitbench.reporting.formats import format_count

TOTAL_MARK = "*"
"""Stands beside a ratio of total CPU where others are of steady CPU."""
TOTAL_NOTE = f"{TOTAL_MARK} total CPU: the steady phase is not known, or not the same work."

DISTURBED_MARK = "†"
"""Stands beside what most rounds of a scenario say while others used the machine."""
DISTURBED_NOTE = (
    f"{DISTURBED_MARK} In most of these rounds the machine did something else, in every attempt."
)


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Says of each candidate in how many scenarios it is faster, slower, the same, or neither."""
    found = _candidates(comparisons)
    said = []
    for label in dict.fromkeys(row.label for _, row in found):
        of_label = [(of, row) for of, row in found if row.label == label]
        verdicts = Counter(_verdict(of, row) for of, row in of_label)
        disturbed = Counter(_verdict(of, row) for of, row in of_label if _is_disturbed(of, row))
        known = [verdict.value for verdict in Verdict if verdict.value in verdicts]
        others = sorted(set(verdicts).difference(known))
        counts = ", ".join(
            f"{name} in {verdicts[name]}{_caveat(disturbed[name])}" for name in (*known, *others)
        )
        scenarios = format_count(verdicts.total(), "scenario", "scenarios")
        said.append(f"{label} against {comparisons[0].baseline.label} in {scenarios}: {counts}.")
    return said


def print_summary(comparisons: Sequence[Comparison], console: Console) -> None:
    """Prints the table and the sentences; nothing where there is no candidate."""
    found = _candidates(comparisons)
    if not found:
        return
    labels = list(dict.fromkeys(row.label for _, row in found))
    candidate = labels[0] if len(labels) == 1 else "all"
    against = f"{candidate} against {comparisons[0].baseline.label}"
    names = ("scenario",) if len(labels) == 1 else ("scenario", "revision")
    table = Table(
        title=f"all scenarios · {against} · judged by steady CPU",
        header=(*names, *map(Heading, ("steady CPU", "system", "real", "verdict"))),
        rows=tuple(
            (*(of.scenario, row.label)[: len(names)], *_cells(of, row)) for of, row in found
        ),
        notes=(
            *([TOTAL_NOTE] if any(_is_total(row) for _, row in found) else []),
            *([DISTURBED_NOTE] if any(_is_disturbed(of, row) for of, row in found) else []),
            *sentences(comparisons),
        ),
        names=len(names),
        least=12,
    )
    print_tables([table], console)


def _candidates(comparisons: Sequence[Comparison]) -> list[tuple[Comparison, Row]]:
    """Every candidate of every scenario."""
    return [(comparison, row) for comparison in comparisons for row in comparison.rows[1:]]


def _verdict(comparison: Comparison, row: Row) -> str:
    """What the judged ratio says, or why there is none."""
    if row.judged is not None:
        return row.judged.verdict.value
    if row.ratios:
        return ""
    unsupported = comparison.baseline.unsupported or row.unsupported
    return "not supported" if unsupported else "not measured"


def _is_total(row: Row) -> bool:
    """Whether total CPU is judged, as the steady phase is not known, or not the same work."""
    return row.judged is not None and row.judged_by == "cpu"


def _is_disturbed(comparison: Comparison, row: Row) -> bool:
    """Whether it rests mostly on rounds in which the machine did something else."""
    return row.judged is not None and comparison.is_disturbed


def _caveat(disturbed: int) -> str:
    if not disturbed:
        return ""
    return f" (in {disturbed} the machine did something else in most rounds)"


def _cells(comparison: Comparison, row: Row) -> tuple[Cell, ...]:
    mark = DISTURBED_MARK if _is_disturbed(comparison, row) else ""
    return (
        ratio_cell(row.judged, TOTAL_MARK if _is_total(row) else ""),
        ratio_cell(row.ratios.get("system")),
        ratio_cell(row.ratios.get("real")),
        Word(
            text=f"{_verdict(comparison, row)}{mark}",
            style=STYLES[row.judged.verdict] if row.judged else "red",
        ),
    )
