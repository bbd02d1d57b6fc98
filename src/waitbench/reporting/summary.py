"""What the candidates of comparisons, their costs and their verdicts are called.

What is judged is the CPU that the workers use in the steady phase; where nothing reports it, as in
a user's own dataflow, or where engines have other work in it, total CPU.
"""

from collections.abc import Mapping, Sequence

from waitbench.analysis.statistics import Comparison, Row

TITLES = {
    "steady": "steady CPU",
    "system": "system time",
    "latency": "lateness p99",
    "cpu": "CPU in all",
    "real": "real time",
}
"""What people call costs."""

TOTAL_MARK = "*"
"""Stands beside a ratio of total CPU where others are of steady CPU."""
TOTAL_NOTE = f"{TOTAL_MARK} total CPU: the steady phase is not known, or not the same work."

DISTURBED_MARK = "†"
"""Stands beside what most rounds of a scenario say while others used the machine."""
DISTURBED_NOTE = (
    f"{DISTURBED_MARK} In most of these rounds other programs used the machine, in every attempt."
)


def titles_of(*, is_waiting: bool) -> Mapping[str, str]:
    """What people call costs; that of the steady phase by what is in it, if only waiting is."""
    return {**TITLES, **({"steady": "CPU while waiting"} if is_waiting else {})}


def candidates(comparisons: Sequence[Comparison]) -> list[tuple[Comparison, Row]]:
    """Every candidate of every scenario."""
    return [(comparison, row) for comparison in comparisons for row in comparison.rows[1:]]


def verdict(comparison: Comparison, row: Row) -> str:
    """What the judged ratio says, or why there is none."""
    if row.judged is not None:
        return row.judged.verdict.value
    if row.ratios:
        return ""
    is_unsupported = comparison.baseline.is_unsupported or row.is_unsupported
    return "not supported" if is_unsupported else "not measured"


def is_disturbed(comparison: Comparison, row: Row) -> bool:
    """Whether it rests mostly on rounds in which the machine did something else."""
    return row.judged is not None and comparison.is_disturbed
