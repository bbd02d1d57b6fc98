"""The gate's verdict as plain data, ready for JSON; docs/verdict.md documents its keys."""

from dataclasses import asdict
from typing import Any

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.gate.texts import headline, reasons, remarks

SCHEMA_VERSION = 3


def plain(verdict: GateVerdict) -> dict[str, Any]:
    """Everything that is known of the verdict, for ``verdict.json`` and ``--json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "outcome": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "reasons": reasons(verdict),
        "headline": headline(verdict),
        "error": ALPHA,
        "questions": verdict.hypotheses,
        "max_rounds": verdict.most_rounds,
        "inconclusive": "pass" if verdict.inconclusive_passes else "error",
        "disturbed_runs": verdict.disturbed_runs,
        "disturbed_rounds": verdict.disturbed_rounds,
        "rounds": verdict.rounds,
        "foreign_cores": verdict.foreign_cores,
        "steal_share": verdict.steal_share,
        "failed_runs": [asdict(one) for one in verdict.failed_runs],
        "lost": list(verdict.lost),
        "open": len(verdict.open),
        "not_measured": len(verdict.not_measured),
        "unsupported": list(verdict.unsupported),
        "left_out": list(verdict.left_out),
        "judgements": [_judgement(judgement) for judgement in verdict.judgements],
        "remarks": remarks(verdict),
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "scenario": judgement.place,
        "scenarios": list(judgement.scenarios),
        "revision": judgement.label,
        "metric": judgement.criterion.metric.name,
        "criterion": str(judgement.criterion),
        "margin": judgement.criterion.margin,
        "floor": judgement.criterion.floor,
        "unit": judgement.criterion.metric.unit,
        "alone": judgement.criterion.alone,
        "together": judgement.criterion.together,
        "scope": judgement.criterion.scope.value,
        "verdict": judgement.verdict.value,
        "fails": judgement.fails,
        "open": judgement.is_open,
        "given_up": judgement.hopeless,
        "why_given_up": judgement.why_given_up,
        "disturbed_rounds": judgement.disturbed,
        "cost": judgement.cost.name if judgement.cost else None,
        "cost_ratio": judgement.cost_ratio,
        "ratio": judgement.ratio,
        "means": judgement.means,
        "tail": None if judgement.tail is None else asdict(judgement.tail),
        "low": judgement.low,
        "high": judgement.high,
        "rounds": judgement.rounds,
        "supported_margin": judgement.supported_margin,
        "would_have_found": judgement.would_have_found,
    }
