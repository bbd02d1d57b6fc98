"""Means and paired ratios of measurements, with intervals and verdicts.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the
Hodges-Lehmann estimate of the ratios within rounds, as in the gate: pairing removes drift of the
machine. Intervals are Student's t, for ratios on their logarithms.

Verdicts follow from the intervals of ratios. An error of 5 % is divided (Bonferroni) over all
scenarios, candidates, ``METRICS_WITH_SENTENCE`` and ``SIDE_EFFECTS``: with eight unchanged
scenarios, one of eight 95 % intervals would exclude 1 in a third of comparisons. Each other metric
has 5 % of its own, divided over scenarios and candidates.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist, fmean, stdev

from waitbench.analysis.results import MetricResult
from waitbench.analysis.rounds import by_round, concurrent_rounds_understate
from waitbench.analysis.rule import not_within, signed_rank_interval
from waitbench.model.metrics import BY_NAME, BY_SECOND, METRIC_ORDER, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import ENDED, NOT_SUPPORTED
from waitbench.model.verdicts import Estimate

CONFIDENCE = 0.95
ERROR = 0.05
_HALVINGS = 60
"""More than the binary digits of a float."""
WIDEST = 1000.0
"""The largest factor between a ratio and a bound; a wider interval has no bounds."""
UNABLE = {NOT_SUPPORTED: "not supported", ENDED: "ended"}
"""Why there is no ratio, by the reason of failed runs; ``ENDED``: the worker exited early."""
BELOW_RESOLUTION = "below the resolution"
"""The reason why there is no ratio if both means are below the resolution of the metric."""
# Metrics of the first screen: of all runs; then of workers that wait, or of those that exit.
OF_RUNS = ("real", "user", "system", "cpu")
OF_WAITING = ("idle", "wakeups", "latency", "memory")
OF_COMMANDS = ("window", "cpu-window")
METRICS_WITH_SENTENCE = ("cpu", "real", "system", "idle")
"""The metrics with a sentence each. They share four fifths of the error."""
SIDE_EFFECTS = (
    "latency", "latency-p50", "wakeups", "syscalls", "startup", "shutdown", "rss", "memory",
)  # fmt: skip
"""Costs that a change may raise while it lowers others. They share a fifth of the error."""


@dataclass(frozen=True, kw_only=True)
class IdleCost:
    """The cost of all processes of one revision while they wait."""

    cores: Estimate
    window_s: float
    figures: Mapping[str, float]
    """Means by the metric's name; those of ``BY_SECOND`` are per second of the window."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All revisions in one scenario."""

    record: ScenarioResults
    figures: Mapping[str, tuple[MetricResult, ...]]
    """By revision: the baseline's means, and each candidate's means and ratios."""

    @property
    def results(self) -> list[MetricResult]:
        """All figures of the candidates; without candidates, those of the baseline."""
        labels = self.record.context.labels[1:] or tuple(self.figures)
        return [result for label in labels for result in self.figures[label]]

    def means(self, label: str) -> dict[str, Estimate]:
        return {it.metric.name: it.after for it in self.figures[label] if it.after}

    def cost(self, label: str, name: str) -> Estimate | None:
        """The mean of a metric; the baseline's, over the rounds that it shares with a candidate."""
        baseline, *candidates = self.figures
        if label == baseline and candidates:
            results = [it for candidate in candidates for it in self.figures[candidate]]
            means = [it.before for it in results if it.metric.name == name and it.before]
            return max(means, key=lambda mean: mean.count, default=None)
        return self.means(label).get(name)

    def idle_cost(self, label: str) -> IdleCost | None:
        """The idle cost of a revision; ``None`` if its windows are unknown."""
        record = self.record
        means = {name: self.cost(label, name) or it for name, it in self.means(label).items()}
        if "share" not in means:
            return None
        windows = [it.window_s for it in record.of(label) if it.window_s is not None]
        window_s = fmean(windows) if windows else 0.0
        figures = {
            name: mean.value / window_s if name in BY_SECOND else mean.value
            for name, mean in means.items()
            if window_s or name not in BY_SECOND
        }
        return IdleCost(cores=means["share"], window_s=window_s, figures=figures)

    @property
    def rounds(self) -> int:
        return len(self.record.rounds)


def compare(record: ScenarioResults, *, scenarios: int = 1) -> Comparison:
    """Compares all revisions with the first; ``scenarios`` is their number in the comparison."""
    labels = record.context.labels
    figures = {label: tuple(_figures(record, label, scenarios)) for label in labels}
    return Comparison(record=record, figures=figures)


def mean(values: Sequence[float], least: float = 0.0, error: float = 1 - CONFIDENCE) -> Estimate:
    """The mean with its t interval, whose lower bound is at least ``least``."""
    count = len(values)
    centre = math.fsum(values) / count
    if count < 2:
        return Estimate(centre, None, None, count)
    half = stdev(values) / math.sqrt(count) * t_quantile(1 - error / 2, count - 1)
    return Estimate(centre, max(least, centre - half), centre + half, count)


def log_ratios(pairs: Sequence[tuple[float, float]], resolution: float) -> list[float]:
    """The logarithms of the ratios of pairs (baseline, candidate), each at least the resolution."""
    return [math.log(max(after, resolution) / max(before, resolution)) for before, after in pairs]


def geometric_mean(logs: Sequence[float], error: float = 1 - CONFIDENCE) -> Estimate:
    """The geometric mean of ratios, from their logarithms; see ``WIDEST`` on its interval."""
    log = mean(logs, -math.inf, error)
    if log.low is None or log.high is None or log.high - log.low > 2 * math.log(WIDEST):
        return Estimate(math.exp(log.value), None, None, log.count)
    return Estimate(math.exp(log.value), math.exp(log.low), math.exp(log.high), log.count)


@cache
def t_quantile(share: float, freedom: float) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom.

    ``share`` is at least a half, ``freedom`` a whole number or infinite. Inverts the sums 26.7.3
    and 26.7.4 of M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 1964, as it
    takes a quarter of a second to import scipy.
    """
    if freedom == math.inf:
        return NormalDist().inv_cdf(share)
    is_odd = int(freedom) % 2

    def within(angle: float) -> float:
        """The probability of values up to sqrt(freedom) tan(angle) in size."""
        term, total = math.cos(angle) if is_odd else 1.0, 0.0
        for step in range(is_odd, int(freedom) + is_odd - 1, 2):
            total += term
            term *= math.cos(angle) ** 2 * (step + 1) / (step + 2)
        total *= math.sin(angle)
        return (angle + total) * 2 / math.pi if is_odd else total

    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 2 * share - 1 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _ratio(pairs: Sequence[tuple[float, float]], metric: Metric, error: float) -> Estimate:
    """The ratio of a candidate to the baseline, from pairs (baseline, candidate)."""
    import numpy as np

    is_below = [fmean(side) < metric.resolution for side in zip(*pairs, strict=True)]
    logs = log_ratios(pairs, metric.resolution)
    centre = math.exp(signed_rank_interval(np.array(logs), 0.0, 0.0).centre)
    ratio = geometric_mean(logs, error).with_value(centre)
    return replace(ratio, is_bound=is_below[0] != is_below[1])


def _figures(record: ScenarioResults, label: str, scenarios: int) -> Iterator[MetricResult]:
    """Yields a result for each metric of a revision, in ``METRIC_ORDER``."""
    baseline, *candidates = record.context.labels
    is_alone = label == baseline
    metrics = {metric.name: metric for metric in record.metrics}
    sides = {name: both_sides(record, label, metric) for name, metric in metrics.items()}
    lacking = {name: _lacking(record, label, metric) for name, metric in metrics.items()}
    shown = {name for name, costs in sides.items() if any(costs) or lacking[name]}
    compared = {name for name, costs in sides.items() if all(costs) and not is_alone}
    others = OF_COMMANDS if "window" in metrics else OF_WAITING if record.spec.waits else ()
    # A worker that reports no window is judged by its total CPU.
    has_idle = "idle" in (compared if "cpu" in compared else shown)
    judged_by = "idle" if has_idle and "memory" in metrics else "cpu"
    reasons = {it.reason for it in record.failed_runs if it.label in (baseline, label)}
    why_unable = next((why for reason, why in UNABLE.items() if reason in reasons), "")
    error = ERROR / scenarios / max(1, len(candidates))
    error_parts = {
        name: share / sum(it in metrics for it in group)
        for share, group in ((0.8, METRICS_WITH_SENTENCE), (0.2, SIDE_EFFECTS))
        for name in group
        if name in metrics
    }
    for name in dict.fromkeys((*METRIC_ORDER, *metrics)):
        metric, is_judged = BY_NAME.get(name, metrics.get(name)), name == judged_by and not is_alone
        if not metric or metric.key.startswith("machine_") or not (name in shown or is_judged):
            continue
        costs = sides.get(name, ([], []))
        before, after = (mean(side) if side else None for side in costs)
        ratio, why_not = None, ""
        if name in compared:
            ratio = _ratio([*zip(*costs, strict=True)], metric, error * error_parts.get(name, 1.0))
            is_below = max(map(fmean, costs)) < metric.resolution
            why_not = BELOW_RESOLUTION if is_below else ""
        elif lacking.get(name):
            why_not = lacking[name]
        elif not is_alone:
            why_not = why_unable or ("not compared" if compared else "not measured")
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
            headline=name in (*OF_RUNS, *others),
            is_alone=is_alone,
            waits=record.spec.waits,
            is_point=record.spec.scan is not None,
            why_not=why_not,
        )


def _lacking(record: ScenarioResults, label: str, metric: Metric) -> str:
    """Why a metric has no mean, such as a time limit that passed in some runs."""
    baseline = record.context.labels[0]
    for side in dict.fromkeys((label, baseline)):
        runs = record.of(side)
        lacks = [lack for run in runs if (lack := run.incomplete.get(metric.key))]
        if lacks:
            limit = lacks[-1].more_than
            what = "not measured" if limit is None else not_within(limit)
            where = "" if len(lacks) == len(runs) else f" in {len(lacks)} of {len(runs)} runs"
            return f"{'' if side == label else 'baseline '}{what}{where}"
    return ""


def both_sides(
    record: ScenarioResults, label: str, metric: Metric
) -> tuple[list[float], list[float]]:
    """The costs of the baseline and of a revision, by rounds that both have, if there are any.

    Means over other rounds could contradict the ratio. A side of which any run lacks the metric has
    no costs, because the missing costs may be the highest.
    """
    baseline, candidate = (
        {}
        if any(metric.key in run.incomplete for run in record.of(side))
        else {number: cost for number, (cost,) in by_round([(record, side)], metric).items()}
        for side in (record.context.labels[0], label)
    )
    rounds = baseline.keys() & candidate.keys() or baseline.keys() or candidate.keys()
    if concurrent_rounds_understate(record, label, metric):
        rounds = set(rounds) & record.interleaved_rounds
    before, after = ([side[it] for it in side if it in rounds] for side in (baseline, candidate))
    return before, after
