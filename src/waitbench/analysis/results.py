"""Results and notes, which views only format."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis.criteria import Acceptance, Criterion, Limit
from waitbench.analysis.rule import MissedLimits, RuleResult
from waitbench.model.metrics import SERVICES, Metric
from waitbench.model.verdicts import MARGIN, Estimate, Verdict

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


@dataclass(frozen=True, kw_only=True)
class MetricResult(RuleResult):
    """One metric of one revision, in one scenario or in several together."""

    scenario: str
    scenarios: tuple[str, ...]
    revision: str
    metric: Metric
    before: Estimate | None = None
    """The baseline's mean."""
    after: Estimate | None = None
    """The revision's mean."""
    why_not: str = ""
    """Why there is no ratio; empty if there is one."""
    judged: bool = False
    """Whether the verdict on the revision depends on it."""
    headline: bool = False
    """Whether the first screen has it."""
    is_alone: bool = False
    """Whether there is nothing to compare its revision with."""
    waits: bool = True
    is_point: bool = False
    """Whether its scenario is one point of a scan, which is judged as a whole."""
    criterion: Criterion | None = None
    at_least: bool = False
    """Whether the true ratio is larger, as concurrent workers that busy-wait lacked CPUs."""
    missed: MissedLimits | None = None
    accepted: Acceptance | None = None

    @property
    def margin(self) -> float:
        return self.criterion.margin if self.criterion else MARGIN

    @property
    def allowance(self) -> float:
        return self.criterion.allowance if self.criterion else 0.0

    @property
    def limit(self) -> Limit | None:
        return self.criterion.limit if self.criterion else None

    @property
    def fails(self) -> bool:
        is_rise = self.verdict is Verdict.SLOWER
        return self.criterion is not None and is_rise and self.accepted is None

    @property
    def most(self) -> float:
        """The largest allowed ratio.

        With an allowance or a limit it is 1, as ratios are to the allowed cost.
        """
        return 1.0 if self.allowance or self.limit else 1 + self.margin


def with_answers(
    results: Sequence[MetricResult], answers: Iterable[MetricResult]
) -> list[MetricResult]:
    """Replaces ratios by the estimates in the gate's answers, so that all views agree."""
    estimates = {
        (it.scenario, it.revision, it.metric.name): it.ratio.value
        for it in answers
        if it.ratio and len(it.scenarios) == 1 and not (it.allowance or it.limit or it.at_least)
    }
    return [
        replace(it, ratio=it.ratio.with_value(estimates[key]))
        if it.ratio and (key := (it.scenario, it.revision, it.metric.name)) in estimates
        else it
        for it in results
    ]


def by_urgency(results: Iterable[MetricResult]) -> list[MetricResult]:
    """Sorts failures first, then open answers, falls, and passes."""
    return sorted(results, key=lambda it: (not it.fails, _URGENCY.index(it.verdict)))


def decisive(results: Sequence[MetricResult]) -> tuple[list[MetricResult], list[MetricResult]]:
    """Splits the results of a gate into those that a summary shows, and the others.

    If questions failed or are open, it shows these; if all passed, it shows falls, limits, and the
    result nearest to its margin. It always shows the costs of services, as no other table does.
    """
    ordered = by_urgency(results)
    has_failed = any(it.fails for it in ordered)
    has_passed = not has_failed and not any(it.verdict in _OPEN for it in ordered)
    shown_verdicts = {Verdict.SLOWER, Verdict.EXPLAINED, *(() if has_failed else _OPEN)}
    shown_verdicts |= {Verdict.FASTER} if has_passed else set()
    shown = [it for it in ordered if it.verdict in shown_verdicts]
    if has_passed:
        passing = [it for it in ordered if it.verdict is Verdict.WITHIN_MARGIN]
        # By the factor by which the upper bound may rise, up to the largest allowed ratio.
        passing.sort(
            key=lambda it: it.ratio.high / it.most if it.ratio and it.ratio.high else 0.0,
            reverse=True,
        )
        shown += [it for rank, it in enumerate(passing) if rank == 0 or it.limit]
    shown += [it for it in ordered if it.metric in SERVICES and it not in shown]
    return shown, [it for it in ordered if it not in shown]


_KEYS = (
    "scenario", "scenarios", "revision", "metric", "before", "after", "ratio", "rounds", "verdict",
    "why_not", "judged", "headline", "is_alone", "waits", "is_point", "criterion", "margin",
    "allowance", "limit", "outliers", "by_outliers", "at_least", "missed", "accepted",
)  # fmt: skip


def as_json(results: Iterable[MetricResult]) -> list[dict[str, Any]]:
    """Results ready for JSON, with the name and unit of their metric."""
    return [
        {
            **msgspec.to_builtins({key: getattr(result, key) for key in _KEYS}),
            "metric": result.metric.name,
            "criterion": str(result.criterion or ""),
            "accepted": result.accepted is not None,
            "unit": result.metric.unit,
            "fails": result.fails,
        }
        for result in results
    ]
