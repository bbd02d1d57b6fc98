"""Results and notes, which every view formats without computing anything."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis import at_once
from waitbench.analysis.censoring import not_within
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import Comparison, MetricResult, both_sides, mean
from waitbench.model.verdicts import Verdict

_OPEN = (Verdict.NOT_MEASURED, Verdict.INCONCLUSIVE)
_URGENCY = (Verdict.SLOWER, Verdict.EXPLAINED, *_OPEN, Verdict.FASTER, Verdict.WITHIN_MARGIN)


class Note(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact that a reader must know beside the figures."""

    kind: str
    level: str
    """See ``reporting.notes``."""
    text: str
    scenario: str = ""
    revision: str = ""
    criterion: str = ""
    count: int = 0


def of_comparisons(comparisons: Iterable[Comparison]) -> list[MetricResult]:
    """All figures of the candidates, or those of the baseline if there are none."""
    return [
        figure
        for comparison in comparisons
        for label in comparison.record.context.labels[1:] or comparison.figures
        for figure in comparison.figures[label]
    ]


def of_verdict(verdict: GateVerdict) -> list[MetricResult]:
    return [_answered(judgement) for judgement in verdict.judgements]


def _answered(judgement: Judgement) -> MetricResult:
    """Converts an answer; one about a single scenario has the figures of both sides."""
    criterion, ratio = judgement.criterion, judgement.ratio
    before, after = None, None
    if len(judgement.records) == 1:
        sides = both_sides(judgement.records[0], judgement.label, criterion.metric)
        means = before, after = [mean(side) if side else None for side in sides]
        is_little = any(it and it.value < criterion.metric.resolution for it in means)
        if ratio is not None and is_little and not criterion.floor and not criterion.limit:
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
        why_not=not_within(judgement.missed.within) if judgement.missed else "",
        accepted=judgement.accepted is not None,
    )


def with_answers(
    results: Sequence[MetricResult], answers: Iterable[MetricResult]
) -> list[MetricResult]:
    """The results with the gate's estimates of the same ratios, so that views show one value."""
    estimates = {
        (it.scenario, it.revision, it.metric.name): it.ratio.value
        for it in answers
        if it.ratio and len(it.scenarios) == 1 and not (it.floor or it.limit or it.at_least)
    }
    return [
        _with_value(it, estimates.get((it.scenario, it.revision, it.metric.name))) for it in results
    ]


def _with_value(result: MetricResult, value: float | None) -> MetricResult:
    ratio = result.ratio
    if ratio is None or value is None:
        return result
    low, high = ratio.low and min(ratio.low, value), ratio.high and max(ratio.high, value)
    return msgspec.structs.replace(result, ratio=replace(ratio, value=value, low=low, high=high))


def by_urgency(results: Iterable[MetricResult]) -> list[MetricResult]:
    """Sorts failures first, then open answers, falls, and passes."""
    return sorted(results, key=lambda it: (not it.fails, _URGENCY.index(it.verdict)))


def decisive(results: Sequence[MetricResult]) -> tuple[list[MetricResult], list[MetricResult]]:
    """Splits results into those that the outcome of a gate rests on, and the others.

    A pass rests on falls, budgets, and the result nearest to its limit. Services always belong to
    the first part, as they appear nowhere else.
    """
    ordered = by_urgency(results)
    has_failed = any(it.fails for it in ordered)
    shown = _URGENCY[:2] if has_failed else (*_URGENCY[:2], *_OPEN)
    decides = [it for it in ordered if it.verdict in shown]
    if not has_failed and not any(it.verdict in _OPEN for it in ordered):
        passing = [it for it in ordered if it.verdict is Verdict.WITHIN_MARGIN]
        decides += [it for it in ordered if it.verdict is Verdict.FASTER]
        passing.sort(key=lambda it: it.headroom)
        decides += [it for rank, it in enumerate(passing) if rank == 0 or it.limit]
    decides += [it for it in ordered if it.metric.is_of_services and it not in decides]
    return decides, [it for it in ordered if it not in decides]


def plain(results: Iterable[MetricResult]) -> list[dict[str, Any]]:
    """Results ready for JSON, with the name and unit of their metric."""
    return [
        {
            **msgspec.to_builtins(result),
            "metric": result.metric.name,
            "unit": result.metric.unit,
            "fails": result.fails,
        }
        for result in results
    ]
