"""The gate's verdict as plain data, ready for JSON; docs/verdict.md documents its keys."""

from typing import Any

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.gate.texts import headline, remarks

SCHEMA_VERSION = 2


def plain(verdict: GateVerdict) -> dict[str, Any]:
    """Everything that is known of the verdict, for ``verdict.json`` and ``--json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "passed": verdict.passed,
        "headline": headline(verdict),
        "error": ALPHA,
        "questions": verdict.hypotheses,
        "max_rounds": verdict.most_rounds,
        "strict": verdict.strict,
        "disturbed_runs": verdict.disturbed_runs,
        "disturbed_rounds": verdict.disturbed_rounds,
        "open": len(verdict.open),
        "not_measured": len(verdict.not_measured),
        "unsupported": list(verdict.unsupported),
        "left_out": list(verdict.left_out),
        "judgements": [
            _judgement(judgement, fails=judgement in verdict.failures)
            for judgement in verdict.judgements
        ],
        "remarks": remarks(verdict),
    }


def _judgement(judgement: Judgement, *, fails: bool) -> dict[str, Any]:
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
        "verdict": judgement.verdict.value,
        "fails": fails,
        "open": judgement.is_open,
        "given_up": judgement.hopeless,
        "why_given_up": judgement.why_given_up,
        "disturbed_rounds": judgement.disturbed,
        "cost": judgement.cost.name if judgement.cost else None,
        "cost_ratio": judgement.cost_ratio,
        "cost_fell": judgement.cost_fell,
        "ratio": judgement.ratio,
        "low": judgement.low,
        "high": judgement.high,
        "rounds": judgement.rounds,
        "supported_margin": judgement.supported_margin,
        "would_have_found": judgement.would_have_found,
    }
