"""Whether another way to share out the error, to look or to trim would save rounds: simulated.

    .bench/venv/bin/python benchmarks/stopping_rules.py [--trials 200] [--rounds 30]

The first rule is the gate's; each other one has its errors, or smaller ones. Of each: the rounds of
all eight scenarios together until everything is settled when nothing changed, then the mean rounds
after which a change is found, counting the most where it is not. simulation.py says what is
simulated; all rules see the same figures. Kept output: docs/trials/simulated-rules.txt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from unittest import mock

import numpy
from numpy.random import Generator, default_rng
from scipy import special

from benchmarks.common import command_line
from benchmarks.simulation import (
    MACHINES,
    WAITING,
    WORKING,
    Hypothesis,
    Logs,
    ask,
    quiet,
    simulate,
)
from waitbench.analysis import criteria, sequential
from waitbench.analysis.sequential import ALPHA, Errors

CHANGES = ("wakeups+10", "steady+25", "cpu+25", "steady+100")
DEFAULTS = ask(criteria.DEFAULTS)
_STRICTEST = {
    criterion.metric.name: replace(criterion, together=False)
    for criterion in sorted(criteria.DEFAULTS, key=lambda criterion: -criterion.margin)
}
SEPARATELY = ask(_STRICTEST.values())
"""The same questions with no scenarios taken together."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A way to decide; as it stands, that of the gate."""

    looks: Sequence[int]
    weigh: Callable[[int], float] = lambda _look: 1.0
    """How much of the error a look has, to that of others."""
    open_ended: bool = False
    """Whether looks weigh what they do in the gate, which keeps some error for those after the
    last."""
    pooled: float = 1.0
    """How much of it a hypothesis on several scenarios has, to that of others."""
    clear_over_hypotheses: bool = False
    """Whether the upper bounds share their error over hypotheses too."""
    looks_that_count: tuple[float, float] | None = None
    """By how many looks the errors of the lower and the upper bound are divided, if not by all."""
    hypotheses: tuple[Hypothesis, ...] = DEFAULTS
    trim_from: int = 8


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    size = (options.trials, options.rounds)
    own = Rule(looks=sequential.looks_until(options.rounds))
    gate = replace(own, weigh=sequential.share, open_ended=True)
    counting = _looks_that_count(default_rng(1), own, 40_000)
    fewer = replace(own, looks=(4, 5, 7, 10, 15, 21, options.rounds))
    print(
        f"{options.trials} comparisons of each. With normal noise, bounds at {len(own.looks)} looks"
    )
    print(
        f"err as often as at {counting[0]:.1f} independent ones (the lower), or {counting[1]:.1f}."
    )
    rules = {
        "the gate": gate,
        "no error kept for later looks": own,
        "little error for early looks": replace(own, weigh=lambda look: look),
        "much error for early looks": replace(own, weigh=lambda look: 1 / look),
        "a look at every round": replace(own, looks=range(3, options.rounds + 1)),
        "fewer looks": fewer,
        "looks known to hang together": replace(own, looks_that_count=counting),
        "both": replace(fewer, looks_that_count=_looks_that_count(default_rng(1), fewer, 40_000)),
        "pooled hypotheses weigh 4 times": replace(own, pooled=4.0),
        "no pooled hypotheses": replace(own, hypotheses=SEPARATELY),
        "same: over all hypotheses too": replace(own, clear_over_hypotheses=True),
        "trimmed from 6 rounds on": replace(own, trim_from=6),
        "trimmed from 12 rounds on": replace(own, trim_from=12),
        "never trimmed": replace(own, trim_from=options.rounds + 1),
    }
    for name, noise in MACHINES.items():
        print(f"\n{name:34}{'nothing':>10}" + "".join(f"{change:>12}" for change in CHANGES))
        for title, rule in rules.items():
            data = [
                simulate(default_rng(1), noise, rule.hypotheses, size, _rise(change))
                for change in CHANGES
            ]
            calm = simulate(default_rng(1), noise, rule.hypotheses, size, {})
            found = [numpy.mean([_settle(logs, rule)[1] for logs in of]) for of in data]
            settled = numpy.mean([_scenario_rounds(logs, rule) for logs in calm])
            print(f"{title:34}{settled:>10.1f}" + "".join(f"{rounds:>12.1f}" for rounds in found))


def _rise(change: str) -> dict[str, float]:
    metric, _, percent = change.rpartition("+")
    return {metric: float(percent) / 100}


def _scenario_rounds(ratios: Logs, rule: Rule) -> int:
    """Rounds of all scenarios; each goes on until all that is asked of it is settled."""
    settled, _ = _settle(ratios, rule)
    return sum(
        max(
            after
            for asked, after in zip(rule.hypotheses, settled, strict=True)
            if scenario in asked.scenarios
        )
        for scenario in (*WAITING, *WORKING)
    )


def _settle(ratios: Logs, rule: Rule) -> tuple[list[int], int]:
    """The rounds after which each hypothesis is settled, and after which any first fails."""
    most = ratios.shape[1]
    settled = [most] * len(ratios)
    failed = most
    weights = [rule.pooled if len(asked.scenarios) > 1 else 1.0 for asked in rule.hypotheses]
    total = 1.0 if rule.open_ended else sum(rule.weigh(look) for look in rule.looks)
    by_alarm, by_clear = rule.looks_that_count or (total, total)
    for n, (asked, logs) in enumerate(zip(rule.hypotheses, ratios, strict=True)):
        part = weights[n] / sum(weights)
        margin = float(numpy.log1p(asked.margin))
        for look in rule.looks:
            errors = Errors(
                alarm=ALPHA * rule.weigh(look) / by_alarm * part,
                clear=ALPHA
                * rule.weigh(look)
                / by_clear
                * (part if rule.clear_over_hypotheses else 1),
            )
            with mock.patch.object(sequential, "_TRIM_FROM", rule.trim_from):
                found = sequential.bounds(list(logs[:look]), errors)
            if found.low > margin or found.high <= margin:
                settled[n] = look
                if found.low > margin:
                    failed = min(failed, look)
                break
    return settled, failed


def _looks_that_count(random: Generator, rule: Rule, series: int) -> tuple[float, float]:
    """By how many looks the errors need to be divided, since looks at the same rounds agree.

    That is where the least of all looks' p-values lies with normal noise: it would hold for no
    other. For the lower bound of one hypothesis among all, and for the upper bound of one.
    """
    half = Errors(alarm=0.5, clear=0.5)
    logs = quiet(random, (series, rule.looks[-1]))
    least = numpy.ones(series)
    for look in rule.looks:
        found = [sequential.bounds(list(of[:look]), half) for of in logs]
        t = numpy.array([bounds.centre / bounds.standard_error for bounds in found])
        freedom = look - 2 * sequential._cut(look) - 1
        least = numpy.minimum(least, special.stdtr(freedom, -t))
    errors = (ALPHA / len(rule.hypotheses), ALPHA)
    alarm, clear = (error / float(numpy.quantile(least, error)) for error in errors)
    return alarm, clear


if __name__ == "__main__":
    main()
