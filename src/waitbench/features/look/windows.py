"""Judges running processes, by limits or against each other, while they are counted in windows.

A window takes the place of a run in the rule of the gate. Windows of one process are not
independent: a worker may have a cycle longer than a window. So they are also judged in groups of
three and of nine, and the error is divided among the three sizes. Outliers of one process come in
clusters, but the gate's sign test of outliers assumes that they are independent. So outliers can
prevent a pass, but not cause a failure.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import replace

from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.rule import RULE
from waitbench.features.look.observe import Observation, Target, Total, wait
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.metrics import BY_NAME, MEMORY, WINDOW
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.revision import Origin, Revision
from waitbench.model.run import Measurement
from waitbench.model.scenario import Scenario, Topology
from waitbench.model.verdicts import GateStatus
from waitbench.pipeline import gating
from waitbench.reporting.formats import format_count, format_digits
from waitbench.system.machine import CpuTimes

LONGEST_S = 90.0
RULE_OF_WINDOWS = replace(
    RULE,
    alpha=RULE.alpha / 3,
    alpha_outliers=0.0,
    analyses=RULE.analyses[1:],
)
"""The rule for each size. The gate's first analysis has too few values to decide on a limit."""
_MOST_WINDOWS = 90
"""The most windows; by default they take a second each."""
SIZES = {
    count * size: size
    for size in (1, 3, 9)
    for count in RULE_OF_WINDOWS.analyses
    if count * size <= _MOST_WINDOWS
}
"""The numbers of windows after which they are judged, each with the size of groups."""
_RUN_S = 10.0
"""Figures are scaled to a run of this length: ``Metric.resolution`` is for whole runs."""
_SHARE, _IDLE, _WAKEUPS, _CALLS = (BY_NAME[it] for it in ("share", "idle", "wakeups", "syscalls"))
_LIMITABLE = ("idle", "wakeups", "syscalls", "memory")
Figures = Mapping[str, float]
"""A window's metrics, by key."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The verdict on running processes, and their cost in all windows."""

    labels: Sequence[str]
    verdict: GateVerdict
    totals: Sequence[Total]
    windows: str
    """The number and the length of windows, as text."""
    other_cores: float
    ended: str = ""
    """The name of a target that ended before the answer was certain."""

    @property
    def outcome(self) -> GateStatus:
        return GateStatus.NOT_MEASURED if self.ended else self.verdict.outcome

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.FAILED if self.ended else self.verdict.exit_code


def read_limits(texts: Sequence[str]) -> tuple[Criterion, ...]:
    """Reads limits of running processes from ``METRIC:VALUE``. Raises ``UsageError``."""
    criteria = list[Criterion]()
    for text in texts:
        name, colon, value = text.partition(":")
        is_time = name == "idle" and not value.endswith("%")
        if colon and (name not in _LIMITABLE or is_time):
            raise UsageError(
                f"--limit {text!r}: of a running process, limits are such as idle:0.5%, "
                "wakeups:5/s, syscalls:50/s and memory:80MB."
            )
        criteria.append(gating.parse_limit(text, (_SHARE, _WAKEUPS, _CALLS, MEMORY)))
    return tuple(dict.fromkeys(criteria))


def judge(
    targets: Sequence[Target], limits: Sequence[Criterion] = (), longest_s: float = LONGEST_S
) -> Decision:
    """Counts windows until the answer is certain, for ``longest_s`` at most.

    Limits apply to the last target. Of two targets, the second is compared with the first by the
    gate's default criteria. Raises ``HarnessError`` for a limit that cannot be measured here.
    """
    criteria = (*(DEFAULTS if targets[1:] else ()), *limits)
    if not criteria:
        raise UsageError("Name a limit, such as idle:0.5%, or two processes.")
    with_memory = any(criterion.metric == MEMORY for criterion in criteria)
    window_s = max(longest_s / _MOST_WINDOWS, 0.1)
    labels = [target.name for target in targets]
    verdict, ended, windows = GateVerdict(judgements=()), "", list[Sequence[Figures]]()
    with ExitStack() as stack:
        observations = [Observation(target, stack) for target in targets]
        busy_s, first = CpuTimes.now().busy_s, [it.read() for it in observations]
        now = first
        for number in range(1, round(longest_s / window_s) + 1):
            before, end_s = now, first[0].time_s + number * window_s
            wait(frozenset().union(*(it.roots for it in targets)), end_s - time.monotonic())
            now = [it.read() for it in observations]
            if ended := next((it.target.name for it in observations if it.has_ended), ""):
                break
            costs = [
                it.cost(*ends, with_memory=with_memory)
                for it, *ends in zip(observations, before, now, strict=True)
            ]
            windows.append([_figures(cost) for cost in costs])
            for criterion in limits:
                if criterion.metric.key not in windows[0][-1]:
                    why = " ".join(costs[-1].notes)
                    raise HarnessError(f"--limit {criterion.metric.name}: not measured here. {why}")
            if size := SIZES.get(number):
                verdict = verdict_on(windows, labels, criteria, size)
                if verdict.outcome is not GateStatus.INCONCLUSIVE:
                    break
        totals = [it.cost(*ends) for it, *ends in zip(observations, first, now, strict=True)]
    if not verdict.judgements and windows:  # no analysis was due yet
        verdict = verdict_on(windows, labels, criteria)
    used_s = sum(total.cores * total.seconds for total in totals)
    return Decision(
        labels=labels,
        verdict=verdict,
        totals=totals,
        windows=f"{format_count(len(windows), 'window', 'windows')} of {format_digits(window_s)} s",
        other_cores=(CpuTimes.now().busy_s - busy_s - used_s) / totals[0].seconds,
        ended=ended,
    )


def _figures(cost: Total) -> Figures:
    figures = {
        WINDOW: _RUN_S,
        _SHARE.key: cost.cores,
        _IDLE.key: cost.cores * _RUN_S,
        _WAKEUPS.key: cost.wakeups_per_s * _RUN_S,
        _CALLS.key: None if cost.syscalls_per_s is None else cost.syscalls_per_s * _RUN_S,
        MEMORY.key: cost.memory_bytes,
    }
    return {key: value for key, value in figures.items() if value is not None}


def verdict_on(
    windows: Sequence[Sequence[Figures]],
    labels: Sequence[str],
    criteria: Sequence[Criterion],
    size: int = 1,
) -> GateVerdict:
    """Judges windows in groups of ``size``. A window has figures for each label, in their order."""
    metrics = (_SHARE, _IDLE, _WAKEUPS, _CALLS, MEMORY)
    measured = tuple(it for it in metrics if all(it.key in figures for figures in windows[0]))
    revisions = [
        Revision(label=label, text=label, engine="", origin=Origin.PROGRAM) for label in labels
    ]
    context = ComparisonHeader(
        revisions=tuple(revisions), topology=Topology("single"), mixed_origins=False,
        hyperfine_version="", machine={}, started_at="", argv=(),
    )  # fmt: skip
    spec = Scenario(name="these windows", waits=True, metrics=measured)
    record = ScenarioResults(spec=spec, context=context)
    for position, label in enumerate(labels):
        values = [figures[position] for figures in windows]
        starts = range(0, len(values) - size + 1, size)
        for number, group in enumerate((values[it : it + size] for it in starts), 1):
            shared = set(group[0]).intersection(*group[1:])
            metrics_of_group = {key: fmean(it[key] for it in group) for key in sorted(shared)}
            record.add(
                Measurement(
                    label=label, round=number, position=position, started_at="",
                    metrics=metrics_of_group,
                )
            )  # fmt: skip
    rule = RULE_OF_WINDOWS
    if size == max(SIZES.values()):
        # Nine groups without outliers could not pass the strict bound: take that of one scenario.
        rule = replace(rule, rise_of_outliers=rule.rise_of_outliers_anywhere)
    return GateVerdict(judgements=gate.judge_all([record], criteria, rule=rule), rule=rule)
