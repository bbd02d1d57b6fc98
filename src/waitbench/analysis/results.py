"""What analysis comes to: results and notes. Every view formats these, and computes nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Comparison, MetricResult
from waitbench.model.verdicts import Verdict

_OPEN = (Verdict.NOT_MEASURED, Verdict.INCONCLUSIVE)
_URGENCY = (Verdict.SLOWER, Verdict.EXPLAINED, *_OPEN, Verdict.FASTER, Verdict.WITHIN_MARGIN)
"""The order in which a reader looks at the answers of a gate."""


class Note(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact that a reader must know beside the figures."""

    kind: str
    level: str
    """Its mark, as that of a figure: see ``reporting.notes``."""
    text: str
    scenario: str = ""
    revision: str = ""
    criterion: str = ""
    count: int = 0


def of_comparisons(comparisons: Iterable[Comparison]) -> list[MetricResult]:
    """Every figure of every candidate; of a revision that is compared with none, its own."""
    return [
        figure
        for of in comparisons
        for label in of.record.context.labels[1:] or of.figures
        for figure in of.figures[label]
    ]


def of_verdict(verdict: GateVerdict) -> list[MetricResult]:
    """What a gate asked, those about several scenarios first."""
    return [
        MetricResult(
            scenario=found.place,
            scenarios=found.scenarios,
            revision=found.label,
            metric=found.criterion.metric,
            ratio=found.ratio,
            rounds=found.rounds,
            verdict=found.verdict,
            judged=True,
            criterion=str(found.criterion),
            margin=found.criterion.margin,
            floor=found.criterion.floor,
            limit=found.criterion.limit,
            dear=found.dear,
            by_dear_runs=found.by_dear_runs,
            accepted=found.accepted is not None,
        )
        for found in verdict.judgements
    ]


def by_urgency(results: Iterable[MetricResult]) -> list[MetricResult]:
    """What failed first, then what is open, what fell, and what holds."""
    return sorted(results, key=lambda one: (not one.fails, _URGENCY.index(one.verdict)))


def decisive(results: Sequence[MetricResult]) -> tuple[list[MetricResult], list[MetricResult]]:
    """What the outcome of a gate rests on, and all else.

    Of a pass that is what fell, every budget, and what is nearest to its limit. What services do is
    shown whatever it is: nobody else looks at it.
    """
    ordered = by_urgency(results)
    has_failed = any(one.fails for one in ordered)
    shown = _URGENCY[:2] if has_failed else (*_URGENCY[:2], *_OPEN)
    decides = [one for one in ordered if one.verdict in shown]
    if not has_failed and not any(one.verdict in _OPEN for one in ordered):
        holding = [one for one in ordered if one.verdict is Verdict.WITHIN_MARGIN]
        decides += [one for one in ordered if one.verdict is Verdict.FASTER]
        holding.sort(key=lambda one: one.headroom)
        decides += [one for place, one in enumerate(holding) if not place or one.limit]
    decides += [one for one in ordered if one.metric.is_of_services and one not in decides]
    return decides, [one for one in ordered if one not in decides]


def plain(results: Iterable[MetricResult]) -> list[dict[str, Any]]:
    """Results ready for JSON: a metric is its name and unit."""
    return [
        {
            **msgspec.to_builtins(one),
            "metric": one.metric.name,
            "unit": one.metric.unit,
            "fails": one.fails,
        }
        for one in results
    ]
