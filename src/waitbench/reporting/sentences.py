"""A Comparison -> what a person would say of each candidate, warnings included."""

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.run import DISTURBED, HARMLESS, OVERDUE, UNBALANCED, Outcome

_TOLD = ("system", "cpu", "real")
_TOO_WIDE = 10
"""An unclear interval whose ends are further apart than this factor is not worth reading out."""
_NEXT_TO_NOTHING_MS = 0.05
"""A difference of lateness below this shows as 0.0."""


def sentences(comparison: Comparison) -> list[str]:
    """Says of each revision what changed, what it bought, and what to be wary of."""
    said = []
    for row in comparison.rows:
        if row.ratios:
            said += _about_change(row, comparison.baseline)
            said += _about_waiting(row, comparison.baseline) if comparison.waits else []
        said += _warnings(row)
        if row.measured and not row.runs:
            rounds = comparison.rounds + comparison.left_out
            said.append(
                f"{row.label}: measured in {row.measured} of {rounds} rounds only: no figures."
            )
    said += _about_rounds(comparison)
    if comparison.other_packages:
        said.append(
            "Other packages differ too, and part of a difference may be theirs: "
            f"{'; '.join(comparison.other_packages)}."
        )
    if comparison.mixed_origins:
        said.append(
            "Mixed origins: these revisions were built by different compilers; part of a "
            "difference may be theirs."
        )
    return said


def count_disturbed(rounds: int) -> str:
    """How many rounds count although they were disturbed, in words."""
    counted = "1 round counts" if rounds == 1 else f"{rounds} rounds count"
    return f"{counted} although the machine did something else in every attempt"


def count_repeated(runs: int) -> str:
    """How many runs of disturbed rounds were made again, in words."""
    counted = "1 run was" if runs == 1 else f"{runs} runs were"
    return f"{counted} repeated because the machine did something else meanwhile"


def _about_rounds(comparison: Comparison) -> list[str]:
    """Rounds that do not count, and those that had better not."""
    said = []
    if comparison.left_out:
        left_out = "1 round is" if comparison.left_out == 1 else f"{comparison.left_out} rounds are"
        said.append(f"{left_out} left out: not every revision has a measurement there.")
    if comparison.disturbed:
        said.append(f"{count_disturbed(comparison.disturbed)}.")
    return said


def _about_change(row: Row, baseline: Row) -> list[str]:
    parts = [_phrase(BY_NAME[name], row.ratios[name]) for name in _TOLD if name in row.ratios]
    said = [f"{row.label} against {baseline.label}: {', '.join(parts)}."]
    said += [
        f"{row.label}: {explanation.title} rose × {row.ratios[explanation.name].value:.3g}, but "
        f"{cost.title} fell × {row.ratios[cost.name].value:.3g}: no regression."
        for explanation, cost in row.excused(baseline)
    ]
    return said


def _about_waiting(row: Row, baseline: Row) -> list[str]:
    """What the workers spend while they wait, and what that does to the items."""
    steady = row.ratios.get("steady")
    if steady is None or steady.low is None:
        return []
    late = _about_lateness(row, baseline)
    return [f"{row.label}: {_about_spending(steady)}{f'; {late}' if late else ''}."]


def _about_spending(steady: Estimate) -> str:
    if steady.verdict is Verdict.INCONCLUSIVE:
        return "CPU while waiting is unclear"
    if steady.verdict is Verdict.WITHIN_MARGIN:
        return "workers spend about as much CPU while waiting"
    return f"workers spend {_factor(steady.value, 'less', 'more')} CPU while waiting"


def _about_lateness(row: Row, baseline: Row) -> str | None:
    ours, theirs = row.estimates.get("latency"), baseline.estimates.get("latency")
    ratio = row.ratios.get("latency")
    if ours is None or theirs is None or ratio is None:
        return None
    difference_ms = (ours.value - theirs.value) * 1000
    if ratio.verdict is Verdict.INCONCLUSIVE:
        both = f"{theirs.value * 1000:.1f} and {ours.value * 1000:.1f} ms at p99"
        return f"whether items are later is unclear ({both})"
    if ratio.verdict is Verdict.WITHIN_MARGIN or abs(difference_ms) < _NEXT_TO_NOTHING_MS:
        return "items arrive no later at p99"
    direction = "later" if difference_ms > 0 else "earlier"
    return f"items arrive {abs(difference_ms):.1f} ms {direction} at p99"


def _warnings(row: Row) -> list[str]:
    said = []
    if row.unsupported is not None:
        said.append(f"{row.label}: not supported: {row.unsupported}.")
    counts = ", ".join(
        f"{count} × {reason}{_last_words(row.last_failures[reason])}"
        for reason, count in sorted(row.failures.items())
        if reason not in HARMLESS
    )
    if counts:
        said.append(f"{row.label}: runs without a measurement: {counts}.")
    repeated = row.failures.get(DISTURBED, 0)
    if repeated:
        said.append(f"{row.label}: {count_repeated(repeated)}.")
    if UNBALANCED in row.marks:
        said.append(
            f"{row.label}: in {row.marks[UNBALANCED]} of {len(row.runs)} runs the CPU of workers, "
            "helpers and launcher does not add up."
        )
    if OVERDUE in row.marks:
        said.append(
            f"{row.label}: in {row.marks[OVERDUE]} of {len(row.runs)} runs the input ended much "
            "later than it was due: steady CPU has what came after the wait."
        )
    if row.identical_to:
        said.append(
            f"{row.label}: identical build: every file of its package is that of "
            f"{row.identical_to}."
        )
    elif row.same_library_as:
        said.append(
            f"{row.label}: same compiled library as {row.same_library_as}, but other files of the "
            "package differ."
        )
    if row.launcher_cpu_s is not None:
        said.append(
            f"{row.label}: the engine's own launcher would have added "
            f"{row.launcher_cpu_s:.2f} s of CPU (one extra run)."
        )
    return said


def _last_words(last: Outcome) -> str:
    return f" ({last.message.rstrip('.')})" if last.message else ""


def _phrase(metric: Metric, ratio: Estimate) -> str:
    if ratio.verdict is Verdict.WITHIN_MARGIN:
        return f"{metric.title} unchanged"
    factor = _factor(ratio.value, "lower", "higher")
    if ratio.low is None or ratio.high is None:
        return f"{metric.title} {factor} (one round: no interval)"
    if ratio.verdict is Verdict.INCONCLUSIVE and ratio.high / ratio.low > _TOO_WIDE:
        return f"{metric.title} too noisy to compare in {ratio.count} rounds"
    if ratio.verdict is Verdict.INCONCLUSIVE:
        interval = f"95 % CI {ratio.low:.2f}–{ratio.high:.2f}"
        chance = ", which may be chance" if ratio.excludes_one else ""
        return f"{metric.title} unclear (ratio {ratio.value:.2f}, {interval}{chance})"
    if _size(ratio.value) >= 2:
        low, high = sorted((_size(ratio.low), _size(ratio.high)))
        return f"{metric.title} {factor} (95 % CI {low:.3g}–{high:.3g})"
    low, high = sorted((abs(ratio.low - 1) * 100, abs(ratio.high - 1) * 100))
    return f"{metric.title} {factor} (95 % CI {low:.0f}–{high:.0f} %)"


def _factor(ratio: float, below: str, above: str) -> str:
    """How far a ratio is from 1, as a factor from 2 on, else in per cent; and where to."""
    direction = below if ratio < 1 else above
    if _size(ratio) >= 2:
        return f"{_size(ratio):.3g}× {direction}"
    return f"{abs(ratio - 1) * 100:.0f} % {direction}"


def _size(ratio: float) -> float:
    return max(ratio, 1 / ratio)
