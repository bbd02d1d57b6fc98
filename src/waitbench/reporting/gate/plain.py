"""The gate's verdict as plain data, ready for JSON; docs/verdict.md documents its keys."""

from typing import Any

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.gate.texts import headline, remarks

SCHEMA_VERSION = 1


def plain(verdict: GateVerdict) -> dict[str, Any]:
    """Everything that is known of the verdict, for ``verdict.json`` and ``--json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "passed": not verdict.failures,
        "headline": headline(verdict),
        "error": ALPHA,
        "questions": verdict.hypotheses,
        "max_rounds": verdict.most_rounds,
        "strict": verdict.strict,
        "disturbed_runs": verdict.disturbed_runs,
        "unsupported": list(verdict.unsupported),
        "judgements": [
            _judgement(judgement, fails=judgement in verdict.failures)
            for judgement in verdict.judgements
        ],
        "remarks": remarks(verdict),
    }


def _judgement(judgement: Judgement, *, fails: bool) -> dict[str, Any]:
    return {
        "scenario": judgement.scenario,
        "revision": judgement.label,
        "metric": judgement.criterion.metric.name,
        "margin": judgement.criterion.margin,
        "floor": judgement.criterion.floor,
        "unit": judgement.criterion.metric.unit,
        "alone": judgement.criterion.alone,
        "verdict": judgement.verdict.value,
        "fails": fails,
        "moved_to_system": judgement.moved,
        "outweighed": judgement.outweighed,
        "ratio": judgement.ratio,
        "low": judgement.low,
        "high": judgement.high,
        "rounds": judgement.rounds,
        "supported_margin": judgement.supported_margin,
    }
