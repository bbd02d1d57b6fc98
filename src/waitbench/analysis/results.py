"""What analysis comes to: results and notes. Every view formats these, and computes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.rule import Dear
from waitbench.analysis.statistics import MARGIN, Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric

NOT_SUPPORTED = "not supported"
BELOW_FLOOR, NEAR_FLOOR = "below the floor", "near the floor"
"""Why there is no ratio: on both sides all means are, or some runs, where figures mean nothing."""
FIRST = (
    "steady", "cpu", "system", "user", "real", "startup", "wakeups", "syscalls", "latency", "rss",
    "memory",
)  # fmt: skip
"""The metrics that are looked at before all others, in this order."""


_ORDER = (Verdict.NOT_MEASURED, Verdict.INCONCLUSIVE, Verdict.FASTER, Verdict.WITHIN_MARGIN)
_FORGIVEN, _OPEN, _FELL = 1, 3, 4
"""Up to where what is urgent is a failure or would be one, is no pass, or fell."""


class MetricResult(Struct, frozen=True, kw_only=True):
    """One metric of one revision, in one scenario or in several together."""

    scenario: str
    """Where, for people."""
    scenarios: tuple[str, ...]
    revision: str
    metric: Metric
    before: Estimate | None = None
    """The baseline's mean."""
    after: Estimate | None = None
    ratio: float | None = None
    """To the baseline; where there is a floor, to the most that is allowed."""
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    is_bound: bool = False
    """Whether one side is next to nothing: the ratio is at least so far from 1."""
    verdict: Verdict | None = None
    why_not: str = ""
    """Why there is no ratio."""
    judged: bool = False
    """Whether the verdict on the revision rests on it."""
    is_alone: bool = False
    """Whether its revision is compared with none."""
    waits: bool = True
    """Whether the workers of its scenario wait."""
    is_point: bool = False
    """Whether its scenario is one value of a scan, of which only the whole says anything."""
    criterion: str = ""
    """The question of a gate that it answers."""
    margin: float = MARGIN
    floor: float = 0.0
    means: float | None = None
    """The ratio of the means, in which rare dear runs count in full."""
    dear: Dear | None = None
    by_dear_runs: bool = False
    """Whether a question fails by the number of dear runs."""
    cost: str | None = None
    """The name of the metric that this one explains, with the ratio of that."""
    cost_ratio: float | None = None
    why_given_up: str | None = None
    disturbed_rounds: int = 0
    accepted: bool = False
    """Whether the project accepts that it fails."""

    @property
    def estimate(self) -> Estimate | None:
        """The ratio with its bounds."""
        if self.ratio is None:
            return None
        return Estimate(self.ratio, self.low, self.high, self.rounds, self.is_bound)

    @property
    def is_open(self) -> bool:
        """Whether nothing is certain."""
        return self.verdict is Verdict.INCONCLUSIVE

    @property
    def fails(self) -> bool:
        """Whether a gate fails by it."""
        return bool(self.criterion) and self.verdict is Verdict.SLOWER and not self.accepted

    @property
    def is_main(self) -> bool:
        """Whether it is what is looked at first: a cost, and what waiting more cheaply costs."""
        has_ratio = self.is_alone or self.ratio is not None
        is_price = self.metric.name == "latency" and self.waits and has_ratio
        is_total = self.metric.name in ("steady", "cpu") and self.is_alone
        return not self.is_point and (self.judged or is_price or is_total)

    @property
    def headroom(self) -> float:
        """How far below its limit the upper bound lies, as a factor."""
        most = 1.0 if self.floor else 1 + self.margin
        return most / self.high if self.high else 1e9

    @property
    def urgency(self) -> int:
        """The place of an answer of a gate among those that a reader looks at first."""
        if self.fails:
            return 0
        if self.accepted or self.verdict is Verdict.EXCUSED or self.verdict is None:
            return _FORGIVEN
        return _FORGIVEN + 1 + _ORDER.index(self.verdict)


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
        result
        for of in comparisons
        for row in of.rows[1:] or of.rows
        for result in _of_row(of, row)
    ]


def _of_row(of: Comparison, row: Row) -> Iterator[MetricResult]:
    known = {**of.baseline.estimates, **row.estimates}
    lacks_steady = "steady" not in (row.ratios if "cpu" in row.ratios else known)
    # Where nothing reports the steady phase, or engines have other work in it, total CPU is judged.
    judged_by = "cpu" if lacks_steady else "steady"
    metrics = {metric.name: metric for metric in of.record.metrics}
    for name in dict.fromkeys((*FIRST, *metrics)):
        metric = BY_NAME.get(name, metrics.get(name))
        is_judged = name == judged_by and row is not of.baseline
        if metric and not metric.key.startswith("machine_") and (name in known or is_judged):
            yield _of_metric(of, row, metric, is_judged=is_judged)


def _of_metric(of: Comparison, row: Row, metric: Metric, *, is_judged: bool) -> MetricResult:
    why_not = _why_not(of, row, metric)
    ratio = None if why_not else row.ratios.get(metric.name)
    figures: dict[str, Any] = {}
    if ratio is not None:
        figures = {name: getattr(ratio, name) for name in ("low", "high", "is_bound", "verdict")}
        figures |= {"ratio": ratio.value, "rounds": ratio.count}
    return MetricResult(
        scenario=of.scenario,
        scenarios=(of.scenario,),
        revision=row.label,
        metric=metric,
        before=None if row is of.baseline else of.baseline.estimates.get(metric.name),
        after=row.estimates.get(metric.name),
        judged=is_judged,
        is_alone=row is of.baseline,
        waits=of.record.waits,
        is_point=of.record.scan is not None,
        why_not=why_not,
        **figures,
    )


def _why_not(of: Comparison, row: Row, metric: Metric) -> str:
    """Why a ratio says nothing; empty where it says something."""
    if metric.name in row.near_floor:
        both = (of.baseline.estimates[metric.name].value, row.estimates[metric.name].value)
        return BELOW_FLOOR if max(both) < metric.floor else NEAR_FLOOR
    if metric.name in row.ratios or row is of.baseline:
        return ""
    if of.baseline.is_unsupported or row.is_unsupported:
        return NOT_SUPPORTED
    return "not compared" if row.ratios else "not measured"


def of_verdict(verdict: GateVerdict) -> list[MetricResult]:
    """What a gate asked, those about several scenarios first."""
    return [_of_judgement(one) for one in verdict.judgements]


def _of_judgement(found: Judgement) -> MetricResult:
    criterion = found.criterion
    return MetricResult(
        scenario=found.place,
        scenarios=found.scenarios,
        revision=found.label,
        metric=criterion.metric,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        rounds=found.rounds,
        verdict=found.verdict,
        judged=True,
        criterion=str(criterion),
        margin=criterion.margin,
        floor=criterion.floor,
        means=found.means,
        dear=found.dear,
        by_dear_runs=found.by_dear_runs,
        cost=criterion.cost.name if criterion.cost and found.cost_ratio else None,
        cost_ratio=found.cost_ratio,
        why_given_up=found.why_given_up,
        disturbed_rounds=found.disturbed,
        accepted=found.accepted is not None,
    )


def by_urgency(results: Iterable[MetricResult]) -> list[MetricResult]:
    """What failed first, then what is open, what fell, and what holds."""
    return sorted(results, key=lambda one: one.urgency)


def decisive(results: Sequence[MetricResult]) -> tuple[list[MetricResult], list[MetricResult]]:
    """What the outcome of a gate rests on, and all else.

    Of a pass that is what fell, and what is nearest to its limit.
    """
    ordered = by_urgency(results)
    last = _FORGIVEN if any(one.fails for one in results) else _OPEN
    decides = [one for one in ordered if one.urgency <= last]
    if all(one.urgency == _FORGIVEN for one in decides):
        decides += [one for one in ordered if one.urgency == _FELL]
        holding = [one for one in ordered if one.urgency > _FELL]
        decides += sorted(holding, key=lambda one: one.headroom)[:1]
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
