"""The gate's verdict as Markdown, for a job's summary or a comment."""

from waitbench.analysis.calibration import POWER
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.gate.texts import (
    findable_text,
    headline,
    ratio_text,
    remarks,
    verdict_text,
)
from waitbench.reporting.markdown import escape, table

_HEADER = (
    "scenario", "revision", "criterion", "ratio (bounds)", "rounds", "verdict", "would have found",
)  # fmt: skip


def render(verdict: GateVerdict) -> str:
    """The headline, a table of the judgements, and the remarks."""
    rows = [
        _cells(judgement, fails=judgement in (*verdict.failures, *verdict.not_measured))
        for judgement in verdict.judgements
    ]
    lines = [
        f"### {escape(headline(verdict))}",
        "",
        *table(_HEADER, rows, numbers_from=len(_HEADER)),
        "",
        *(f"* {escape(remark)}" for remark in remarks(verdict)),
        "",
        f"Lower bounds hold for all {verdict.hypotheses} hypotheses and all looks together, "
        f"upper ones for all looks, each with {ALPHA:.0%} error. A rise as in the last column is "
        f"found {POWER:.0%} of the time.",
        "",
    ]
    return "\n".join(lines)


def _cells(judgement: Judgement, *, fails: bool) -> tuple[str, ...]:
    emphasis = "**" if fails else ""
    return (
        judgement.place,
        judgement.label,
        str(judgement.criterion),
        ratio_text(judgement),
        str(judgement.rounds),
        f"{emphasis}{verdict_text(judgement)}{emphasis}",
        findable_text(judgement),
    )
