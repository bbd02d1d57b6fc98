"""What analysis comes to: results and notes. Every view formats these, and computes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.limits import Limit
from waitbench.analysis.rule import Dear
from waitbench.analysis.statistics import MARGIN, Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.run import ENDED, NOT_SUPPORTED

UNABLE = {NOT_SUPPORTED: "not supported", ENDED: "ended"}
"""Why there is no ratio, by the outcome of a run without a measurement that is no failure."""
BELOW_FLOOR, NEAR_FLOOR = "below the floor", "near the floor"
"""Why there is no ratio: on both sides all means are, or some runs, where figures mean nothing."""
FIRST = (
    "steady", "cpu", "system", "user", "real", "startup", "wakeups", "syscalls", "latency", "rss",
    "memory",
)  # fmt: skip
"""The metrics that are looked at before all others, in this order."""


_OPEN = (Verdict.NOT_MEASURED, Verdict.INCONCLUSIVE)
_URGENCY = (Verdict.SLOWER, Verdict.EXPLAINED, *_OPEN, Verdict.FASTER, Verdict.WITHIN_MARGIN)
"""The order in which a reader looks at the answers of a gate."""


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
    ratio: Estimate | None = None
    """To the baseline; where there is a floor, or a limit, to the most that is allowed."""
    rounds: int = 0
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
    limit: Limit | None = None
    """What the question allows instead of a rise."""
    dear: Dear | None = None
    by_dear_runs: bool = False
    """Whether a question fails by the number of dear runs."""
    accepted: bool = False
    """Whether the project accepts that it fails."""

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
        return most / self.ratio.high if self.ratio and self.ratio.high else 1e9


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
    is_alone = row is of.baseline
    metrics = {metric.name: metric for metric in of.record.metrics}
    for name in dict.fromkeys((*FIRST, *metrics)):
        metric = BY_NAME.get(name, metrics.get(name))
        is_judged = name == judged_by and not is_alone
        if not metric or metric.key.startswith("machine_") or not (name in known or is_judged):
            continue
        why_not = _why_not(of, row, metric)
        ratio = None if why_not else row.ratios.get(name)
        yield MetricResult(
            scenario=of.scenario,
            scenarios=(of.scenario,),
            revision=row.label,
            metric=metric,
            before=None if is_alone else of.baseline.estimates.get(name),
            after=row.estimates.get(name),
            ratio=ratio,
            rounds=ratio.count if ratio else 0,
            verdict=ratio.verdict if ratio else None,
            judged=is_judged,
            is_alone=is_alone,
            waits=of.record.waits,
            is_point=of.record.scan is not None,
            why_not=why_not,
        )


def _why_not(of: Comparison, row: Row, metric: Metric) -> str:
    """Why a ratio says nothing; empty where it says something."""
    if metric.name in row.near_floor:
        both = (of.baseline.estimates[metric.name].value, row.estimates[metric.name].value)
        return BELOW_FLOOR if max(both) < metric.floor else NEAR_FLOOR
    if metric.name in row.ratios or row is of.baseline:
        return ""
    for reason, why in UNABLE.items():
        if reason in {*of.baseline.failures, *row.failures}:
            return why
    return "not compared" if row.ratios else "not measured"


def of_verdict(verdict: GateVerdict) -> list[MetricResult]:
    """What a gate asked, those about several scenarios first."""
    return [
        MetricResult(
            scenario=found.place,
            scenarios=found.scenarios,
            revision=found.label,
            metric=found.criterion.metric,
            ratio=None
            if found.ratio is None
            else Estimate(found.ratio, found.low, found.high, found.rounds),
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

    Of a pass that is what fell, every budget, and what is nearest to its limit.
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
