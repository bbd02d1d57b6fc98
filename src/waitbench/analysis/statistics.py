"""Measurements -> a Comparison: means and paired ratios with intervals, and what they mean.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the
Hodges-Lehmann estimate of the ratios within each round, as in the gate: pairing within rounds
removes changes of the machine that both sides met. Intervals are Student's t, for ratios on their
logarithms: exact if those are normal, and honest about how few rounds there are.

A verdict is what the interval of its ratio says. Of eight scenarios in which nothing changed, one
in five comparisons would have a scenario whose 95 % interval excludes 1. So the intervals of ratios
share an error of 5 % (Bonferroni), over all scenarios and candidates, and over all metrics that
sentences are about. Each other metric has an error of its own.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from msgspec import Struct

from waitbench.analysis import at_once
from waitbench.analysis.censoring import Missed, not_within
from waitbench.analysis.limits import Limit
from waitbench.analysis.rounds import by_round
from waitbench.analysis.rule import Dear
from waitbench.analysis.signed_rank import hodges_lehmann
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
BELOW_RESOLUTION = "below the resolution"
"""Why there is no ratio: both sides lie where figures mean nothing."""
OF_DATAFLOWS = ("real", "user", "system", "cpu")
OF_WORKERS = ("idle", "wakeups", "latency", "memory")
OF_COMMANDS = ("window", "cpu-window", "memory")
"""The figures that come first: of dataflows, of workers that wait, of commands that end."""
FIRST = (
    *OF_DATAFLOWS, "idle", "wakeups", "syscalls", "latency", "startup", "rss", "memory", "window",
    "cpu-window", "restarts", "service-cpu", "service-requests",
)  # fmt: skip
"""The metrics that a reader can act on, in this order; tables of everything have more."""
SPOKEN_OF = ("cpu", "real", "system", "idle")
"""The metrics that a sentence each is about. They share four fifths of the error."""
SIDE_EFFECTS = (
    "latency", "latency-p50", "wakeups", "syscalls", "startup", "shutdown", "rss", "memory",
)  # fmt: skip
"""Costs that a change may raise while it lowers others, named if they rose: the last fifth."""


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
    headline: bool = False
    """Whether it is among the figures that come first: see ``OF_DATAFLOWS``."""
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
    at_least: bool = False
    """Whether most rounds took place at once, and what spins lacked CPUs there."""
    missed: Missed | None = None
    """How often a time limit passed first, where there is no ratio because of that."""
    accepted: bool = False
    """Whether the project accepts that it fails."""

    @property
    def fails(self) -> bool:
        """Whether a gate fails by it."""
        return bool(self.criterion) and self.verdict is Verdict.SLOWER and not self.accepted

    @property
    def is_main(self) -> bool:
        """Whether charts of ratios have it: what is judged, real time, and lateness of waiting."""
        is_price = self.metric.name == "latency" and self.waits
        return not self.is_point and (self.judged or self.metric.name == "real" or is_price)

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
    import numpy as np

    is_little = [
        math.fsum(side) / len(side) < metric.resolution for side in zip(*pairs, strict=True)
    ]
    logs = log_ratios(pairs, metric.resolution)
    centre = math.exp(hodges_lehmann(np.array(logs), 0.0, 0.0).centre)
    interval = geometric_mean(logs, error)
    low = interval.low and min(interval.low, centre)
    high = interval.high and max(interval.high, centre)
    return Estimate(centre, low, high, len(logs), is_bound=is_little[0] != is_little[1])


def _figures(record: Record, label: str, scenarios: int) -> Iterator[MetricResult]:
    baseline, *candidates = record.context.labels
    is_alone = label == baseline
    metrics = {metric.name: metric for metric in record.metrics}
    sides = {name: _sides(record, label, metric) for name, metric in metrics.items()}
    lacking = {name: _lacking(record, label, metric) for name, metric in metrics.items()}
    known = {name for name, costs in sides.items() if any(costs) or lacking[name]}
    compared = {name for name, costs in sides.items() if all(costs) and not is_alone}
    headlines = _headlines(metrics)
    # Where a worker reports no window, its total CPU is judged.
    has_idle = "idle" in (compared if "cpu" in compared else known)
    judged_by = "idle" if has_idle and headlines is OF_WORKERS else "cpu"
    reasons = {one.reason for one in record.outcomes if one.label in (baseline, label)}
    unable = next((why for reason, why in UNABLE.items() if reason in reasons), "")
    error = ERROR / scenarios / max(1, len(candidates))
    parts = {
        name: share / sum(it in metrics for it in group)
        for share, group in ((0.8, SPOKEN_OF), (0.2, SIDE_EFFECTS))
        for name in group
        if name in metrics
    }
    for name in dict.fromkeys((*FIRST, *metrics)):
        metric, is_judged = BY_NAME.get(name, metrics.get(name)), name == judged_by and not is_alone
        if not metric or metric.key.startswith("machine_") or not (name in known or is_judged):
            continue
        theirs, ours = sides.get(name, ([], []))
        before, after = (mean(side) if side else None for side in (theirs, ours))
        ratio, why_not = None, ""
        if name in compared:
            pairs = list(zip(theirs, ours, strict=True))
            ratio = _ratio(pairs, metric, error * parts.get(name, 1.0))
            is_little = max(map(fmean, (theirs, ours))) < metric.resolution
            why_not = BELOW_RESOLUTION if is_little else ""
        elif lacking.get(name):
            why_not = lacking[name]
        elif not is_alone:
            why_not = unable or ("not compared" if compared else "not measured")
        ratio = None if why_not else ratio
        yield MetricResult(
            scenario=record.scenario,
            scenarios=(record.scenario,),
            revision=label,
            metric=metric,
            before=None if is_alone else before,
            after=after,
            ratio=ratio,
            rounds=ratio.count if ratio else 0,
            verdict=ratio.verdict if ratio else None,
            judged=is_judged,
            headline=name in headlines,
            is_alone=is_alone,
            waits=record.waits,
            is_point=record.scan is not None,
            why_not=why_not,
        )


def _headlines(metrics: Container[str]) -> Sequence[str]:
    """The names of the figures that come first among those of a scenario."""
    if "window" in metrics:
        return OF_COMMANDS
    return OF_WORKERS if "memory" in metrics else OF_DATAFLOWS


def both_means(
    record: Record, label: str, metric: Metric
) -> tuple[Estimate | None, Estimate | None]:
    """The means of the baseline and of a revision, in the rounds that both have."""
    theirs, ours = _sides(record, label, metric)
    return mean(theirs) if theirs else None, mean(ours) if ours else None


def _lacking(record: Record, label: str, metric: Metric) -> str:
    """Why there is no mean of a metric: in some runs its time limit passed first, for instance."""
    baseline = record.context.labels[0]
    for one in dict.fromkeys((label, baseline)):
        runs = record.of(one)
        lacks = [lack for run in runs if (lack := run.incomplete.get(metric.key))]
        if lacks:
            limit = lacks[-1].more_than
            what = "not measured" if limit is None else not_within(limit)
            where = "" if len(lacks) == len(runs) else f" in {len(lacks)} of {len(runs)} runs"
            return f"{'' if one == label else 'baseline '}{what}{where}"
    return ""


def _sides(record: Record, label: str, metric: Metric) -> tuple[list[float], list[float]]:
    """What the baseline and a revision cost in the rounds that both have, else one that has any.

    Means of other rounds could contradict the ratio: those that lack may have been the slow ones.
    So there is none of a side some of whose runs lack it.
    """
    theirs, ours = (
        {}
        if any(metric.key in run.incomplete for run in record.of(one))
        else by_round([(record, one)], metric)
        for one in (record.context.labels[0], label)
    )
    rounds = theirs.keys() & ours.keys() or theirs.keys() or ours.keys()
    if at_once.understates(record, label, metric):
        rounds = set(rounds) & at_once.alone(record)

    def costs(of: Mapping[int, tuple[float, ...]]) -> list[float]:
        return [cost for number, (cost,) in of.items() if number in rounds]

    return costs(theirs), costs(ours)
