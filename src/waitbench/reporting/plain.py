"""Comparisons -> plain data, for ``--json``."""

from collections.abc import Sequence
from typing import Any

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.reporting.sentences import sentences


def plain(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Everything that is known of each scenario, ready for JSON."""
    return [
        {
            "scenario": comparison.scenario,
            "topology": comparison.topology,
            "mixed_origins": comparison.mixed_origins,
            "baseline": comparison.baseline.label,
            "rounds": comparison.rounds,
            "disturbed_rounds": comparison.disturbed,
            "revisions": [_row(row, _units(comparison)) for row in comparison.rows],
            "sentences": sentences(comparison),
        }
        for comparison in comparisons
    ]


def plain_ratio(ratio: Estimate) -> dict[str, Any]:
    """A ratio to the baseline."""
    return {**_estimate(ratio), "verdict": ratio.verdict.value}


def _units(comparison: Comparison) -> dict[str, str]:
    return {metric.name: metric.unit for metric in comparison.metrics}


def _row(row: Row, units: dict[str, str]) -> dict[str, Any]:
    return {
        "label": row.label,
        "metrics": {
            name: {**_estimate(estimate), "unit": units[name]}
            for name, estimate in row.estimates.items()
        },
        "ratios": {name: plain_ratio(ratio) for name, ratio in row.ratios.items()},
        "failures": dict(row.failures),
        "marks": dict(row.marks),
        "launcher_cpu_s": row.launcher_cpu_s,
        "identical_to": row.identical_to,
        "same_library_as": row.same_library_as,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "count": estimate.count,
    }
