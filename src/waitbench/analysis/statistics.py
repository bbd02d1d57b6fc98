"""Measurements -> a Comparison: means and paired ratios with intervals, and what they mean.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the
geometric mean of the ratios within each round: pairing within rounds removes what the machine did
to both. Intervals are Student's t, for ratios on their logarithms: exact if those are normal, and
honest about how few rounds there are.

A verdict is what the interval of its ratio says. Of eight scenarios in which nothing changed, one
in five comparisons would have a scenario whose 95 % interval excludes 1. So the intervals of ratios
share an error of 5 % (Bonferroni), over all scenarios and candidates, and over all metrics that
sentences are about. Each other metric has such an error for itself.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev

from msgspec import Struct

from waitbench.analysis.limits import Limit
from waitbench.analysis.rounds import by_round
from waitbench.analysis.rule import Dear
from waitbench.model.estimate import MARGIN, Estimate
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record
from waitbench.model.run import ENDED, NOT_SUPPORTED
from waitbench.model.verdicts import Verdict

CONFIDENCE = 0.95
ERROR = 0.05
"""The chance that words claim any change where there is none."""
WIDEST = 1000.0
"""The factor by which an interval reaches to either side of its ratio at most."""
UNABLE = {NOT_SUPPORTED: "not supported", ENDED: "ended"}
"""Why there is no ratio, by the outcome of a run without a measurement that is no failure."""
NEAR_FLOOR = "near the floor"
"""Why there is no ratio: on both sides some runs are where figures mean nothing."""
FIRST = (
    "idle", "cpu", "system", "user", "real", "startup", "wakeups", "syscalls", "latency", "rss",
    "memory",
)  # fmt: skip
"""The metrics that are looked at before all others, in this order."""
SPOKEN_OF = ("system", "cpu", "real", "idle", "latency")
"""The metrics that sentences are about."""


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
    def fails(self) -> bool:
        """Whether a gate fails by it."""
        return bool(self.criterion) and self.verdict is Verdict.SLOWER and not self.accepted

    @property
    def is_main(self) -> bool:
        """Whether it is what is looked at first: a cost, and what waiting more cheaply costs."""
        has_ratio = self.is_alone or self.ratio is not None
        is_price = self.metric.name == "latency" and self.waits and has_ratio
        is_total = self.metric.name in ("idle", "cpu") and self.is_alone
        return not self.is_point and (self.judged or is_price or is_total)

    @property
    def headroom(self) -> float:
        """How far below its limit the upper bound lies, as a factor."""
        most = 1.0 if self.floor else 1 + self.margin
        return most / self.ratio.high if self.ratio and self.ratio.high else 1e9


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All revisions in one scenario."""

    record: Record
    figures: Mapping[str, tuple[MetricResult, ...]]
    """Of each revision beside those of the baseline; of the baseline, which is first, its own."""

    def means(self, label: str) -> dict[str, Estimate]:
        """Those of a revision, by the metric's name."""
        return {one.metric.name: one.after for one in self.figures[label] if one.after}

    def cost(self, label: str, name: str) -> Estimate | None:
        """The mean of one metric as it stands beside ratios.

        That of the baseline is of the rounds that it shares with the candidate that has most.
        """
        baseline, *candidates = self.figures
        if label == baseline and candidates:
            costs = [one for each in candidates for one in self.figures[each]]
            sides = [one.before for one in costs if one.metric.name == name and one.before]
            return max(sides, key=lambda side: side.count, default=None)
        return self.means(label).get(name)

    @property
    def rounds(self) -> int:
        return len(self.record.rounds)


def compare(record: Record, *, scenarios: int = 1) -> Comparison:
    """Compares every revision of a scenario, which is one of so many, with the first."""
    labels = record.context.labels
    figures = {label: tuple(_figures(record, label, scenarios)) for label in labels}
    return Comparison(record=record, figures=figures)


def mean(values: Sequence[float], least: float = 0.0, error: float = 1 - CONFIDENCE) -> Estimate:
    """The mean with its t interval, of what cannot be less than ``least``."""
    count = len(values)
    centre = math.fsum(values) / count
    if count < 2:
        return Estimate(centre, None, None, count)
    half = stdev(values) / math.sqrt(count) * t_quantile(1 - error / 2, count - 1)
    return Estimate(centre, max(least, centre - half), centre + half, count)


def log_ratios(pairs: Sequence[tuple[float, float]], floor: float) -> list[float]:
    """The logarithm of candidate to baseline for each pair; what is less counts as the floor."""
    return [math.log(max(ours, floor) / max(theirs, floor)) for theirs, ours in pairs]


def geometric_mean(logs: Sequence[float], error: float = 1 - CONFIDENCE) -> Estimate:
    """The geometric mean of ratios, given as logarithms, with its t interval on these.

    An interval that is wider than ``WIDEST`` says nothing and is left out.
    """
    found = mean(logs, -math.inf, error)
    low, high = found.low, found.high
    if low is None or high is None or high - low > 2 * math.log(WIDEST):
        return Estimate(math.exp(found.value), None, None, found.count)
    return Estimate(math.exp(found.value), math.exp(low), math.exp(high), found.count)


def t_quantile(share: float, freedom: float) -> float:
    """Student's t: the value below which a share lies, with so many degrees of freedom.

    Out of ``scipy.special``: ``scipy.stats`` takes most of a second to import.
    """
    from scipy import special

    return float(special.stdtrit(freedom, share))


def _ratio(pairs: Sequence[tuple[float, float]], metric: Metric, error: float) -> Estimate:
    """The ratio of a candidate to the baseline, in pairs of the baseline's value and its own."""
    is_little = [math.fsum(side) / len(side) < metric.floor for side in zip(*pairs, strict=True)]
    found = geometric_mean(log_ratios(pairs, metric.floor), error)
    return replace(found, is_bound=is_little[0] != is_little[1])


def _figures(record: Record, label: str, scenarios: int) -> Iterator[MetricResult]:
    baseline, *candidates = record.context.labels
    is_alone = label == baseline
    metrics = {metric.name: metric for metric in record.metrics}
    sides = {name: _sides(record, label, metric) for name, metric in metrics.items()}
    known = {name for name, costs in sides.items() if any(costs)}
    compared = {name for name, costs in sides.items() if all(costs) and not is_alone}
    # Where nothing reports the window, or engines have other work in it, total CPU is judged.
    has_idle = "idle" in (compared if "cpu" in compared else known)
    judged_by = "idle" if has_idle else "cpu"
    reasons = {one.reason for one in record.outcomes if one.label in (baseline, label)}
    unable = next((why for reason, why in UNABLE.items() if reason in reasons), "")
    error = ERROR / scenarios / max(1, len(candidates))
    spoken_of = sum(name in SPOKEN_OF for name in metrics)
    for name in dict.fromkeys((*FIRST, *metrics)):
        metric, is_judged = BY_NAME.get(name, metrics.get(name)), name == judged_by and not is_alone
        if not metric or metric.key.startswith("machine_") or not (name in known or is_judged):
            continue
        theirs, ours = sides.get(name, ([], []))
        ratio, why_not = None, ""
        if name in compared:
            pairs = list(zip(theirs, ours, strict=True))
            ratio = _ratio(pairs, metric, error / (spoken_of if name in SPOKEN_OF else 1))
            why_not = NEAR_FLOOR if max(min(theirs), min(ours)) < metric.floor else ""
        elif not is_alone:
            why_not = unable or ("not compared" if compared else "not measured")
        ratio = None if why_not else ratio
        yield MetricResult(
            scenario=record.scenario,
            scenarios=(record.scenario,),
            revision=label,
            metric=metric,
            before=mean(theirs) if theirs and not is_alone else None,
            after=mean(ours) if ours else None,
            ratio=ratio,
            rounds=ratio.count if ratio else 0,
            verdict=ratio.verdict if ratio else None,
            judged=is_judged,
            is_alone=is_alone,
            waits=record.waits,
            is_point=record.scan is not None,
            why_not=why_not,
        )


def _sides(record: Record, label: str, metric: Metric) -> tuple[list[float], list[float]]:
    """What the baseline and a revision cost in the rounds that both have, else one that has any.

    Means of other rounds could contradict the ratio: those that lack may have been the slow ones.
    """
    sides = record.context.labels[0], label
    theirs, ours = (by_round([(record, one)], metric) for one in sides)
    rounds = theirs.keys() & ours.keys() or theirs.keys() or ours.keys()

    def costs(of: Mapping[int, tuple[float, ...]]) -> list[float]:
        return [cost for number, (cost,) in of.items() if number in rounds]

    return costs(theirs), costs(ours)
