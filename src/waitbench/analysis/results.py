"""What analysis comes to: results and notes. Every view formats these, and computes nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis import at_once
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import Comparison, MetricResult, both_means
from waitbench.model.estimate import Estimate
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
    """Every question of a gate with its answer, those about several scenarios first."""
    return [_answered(judgement) for judgement in verdict.judgements]


def _answered(judgement: Judgement) -> MetricResult:
    """A question; about one scenario, with the figures of both sides."""
    criterion, ratio = judgement.criterion, judgement.ratio
    before, after = None, None
    if len(judgement.records) == 1:
        before, after = both_means(judgement.records[0], judgement.label, criterion.metric)
        is_little = [
            it is not None and it.value < criterion.metric.resolution for it in (before, after)
        ]
        if ratio is not None and any(is_little) and not criterion.floor and not criterion.limit:
            ratio = replace(ratio, is_bound=True)
    return MetricResult(
        scenario=judgement.place,
        scenarios=judgement.scenarios,
        revision=judgement.label,
        metric=criterion.metric,
        before=before,
        after=after,
        ratio=ratio,
        rounds=judgement.rounds,
        verdict=judgement.verdict,
        judged=True,
        criterion=str(criterion),
        margin=criterion.margin,
        floor=criterion.floor,
        limit=criterion.limit,
        dear=judgement.dear,
        by_dear_runs=judgement.by_dear_runs,
        at_least=judgement.verdict is Verdict.SLOWER
        and any(
            at_once.understates(record, judgement.label, criterion.metric)
            for record in judgement.records
        ),
        missed=judgement.missed,
        why_not=judgement.missed.text if judgement.missed else "",
        accepted=judgement.accepted is not None,
    )


def with_answers(
    results: Sequence[MetricResult], asked: Iterable[MetricResult]
) -> list[MetricResult]:
    """The figures, with the estimates that a gate made of the same ratios: each is one figure."""
    known = {
        (it.scenario, it.revision, it.metric.name): it.ratio
        for it in asked
        if it.ratio and len(it.scenarios) == 1 and not (it.floor or it.limit or it.at_least)
    }
    return [
        _with_estimate(it, known.get((it.scenario, it.revision, it.metric.name))) for it in results
    ]


def _with_estimate(result: MetricResult, answer: Estimate | None) -> MetricResult:
    ratio = result.ratio
    if ratio is None or answer is None:
        return result
    low, high = (
        ratio.low and min(ratio.low, answer.value),
        ratio.high and max(ratio.high, answer.value),
    )
    return msgspec.structs.replace(
        result, ratio=replace(ratio, value=answer.value, low=low, high=high)
    )


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
