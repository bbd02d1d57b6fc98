"""Rounds of two revisions made by hand, for tests of what judges them and tells of it."""

from collections.abc import Sequence

from tests.criteria import parse
from tests.records import make_record, outcome, times
from waitbench.analysis import gate
from waitbench.analysis.gate import GateVerdict
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.record import ScenarioResults

_TEN = (0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.008, 0.003, 0.0, -0.004)
WOBBLE = (*_TEN, *(-0.9 * one for one in _TEN))

Rounds = Sequence[tuple[float, float]]
"""User and system seconds of each."""
Ratio = float | Sequence[float]
"""Of candidate to baseline: in all rounds, or in each."""


def rounds(user: float, system: float, count: int = 20) -> Rounds:
    """Rounds that hardly differ."""
    return [(user * (1 + w), system * (1 - w)) for w in WOBBLE[:count]]


def scaled(found: Rounds, user: float = 1.0, system: float = 1.0) -> Rounds:
    """The same rounds by these factors."""
    return [(u * user, s * system) for u, s in found]


def noisy(count: int, user: float = 1.0) -> Rounds:
    """Rounds whose system time is anywhere about half a second."""
    return [(user, 0.5 * (1 + 40 * w)) for w in WOBBLE[:count]]


def record_of(base: Rounds, candidate: Rounds, scenario: str = "waiting") -> ScenarioResults:
    """A comparison of ``base`` with ``new``."""
    runs = {
        label: [times(5, user, system) for user, system in found]
        for label, found in (("base", base), ("new", candidate))
    }
    return make_record(runs, scenario=scenario)


def sides(
    metric: str, base: Sequence[float], new: Sequence[float], scenario: str = "waiting"
) -> ScenarioResults:
    """Rounds of which nothing is known but the values of one metric."""
    key = BY_NAME[metric].key
    runs = {label: [{key: one} for one in of] for label, of in (("base", base), ("new", new))}
    return make_record(runs, scenario=scenario)


def counted(scenario: str, /, **ratios: Ratio) -> ScenarioResults:
    """Twenty rounds with metrics of these names, by the ratio of the candidate to the baseline.

    All but the baseline wobbles a little.
    """
    by_name = {name.replace("_", "-"): ratio for name, ratio in ratios.items()}
    base = [{BY_NAME[name].key: 100.0 for name in by_name} for _ in WOBBLE]
    candidate = [
        {
            BY_NAME[name].key: 100.0 * _ratio_of(ratio, number) * (1 + wobble / 2)
            for name, ratio in by_name.items()
        }
        for number, wobble in enumerate(WOBBLE)
    ]
    return make_record({"base": base, "new": candidate}, scenario=scenario)


ASKED = (
    "idle", "wakeups", "syscalls", "idle_system", "cpu", "foreign_cpu", "startup", "shutdown",
    "latency", "latency_p50", "rss",
)  # fmt: skip
"""What the defaults ask of a scenario that waits."""


def waiting(name: str, **changes: Ratio) -> ScenarioResults:
    """A scenario that waits, in which nothing changed but what is given."""
    same: dict[str, Ratio] = dict.fromkeys(ASKED, 1.0)
    return counted(name, **{**same, **changes})


def verdict_of(*records: ScenarioResults, criteria: Sequence[str]) -> GateVerdict:
    """What the gate says of some scenarios."""
    return gate.conclude(records, parse(criteria, METRICS))


def failing() -> GateVerdict:
    """One criterion fails, the other does not."""
    base = rounds(1, 0.5)
    return verdict_of(record_of(base, scaled(base, system=1.5)), criteria=["system:10%", "cpu:50%"])


def forgiven() -> GateVerdict:
    """Wake-ups rose, and the cost that they explain fell."""
    record = counted("waiting", wakeups=12.3, idle=0.06)
    return verdict_of(record, criteria=["wakeups:5%", "idle:10%"])


def unclear() -> GateVerdict:
    """The last look answers nothing."""
    return verdict_of(record_of(rounds(1, 0.5), noisy(20)), criteria=["system:10%"])


def crashing() -> GateVerdict:
    """Each run of the candidate failed."""
    record = make_record({"base": [times(1, 1, 1)] * 3, "new": []})
    for number in range(3):
        record.add(outcome("new", number, "failed", message="exit code 1"))
    return verdict_of(record, criteria=["cpu:10%", "system:10%"])


def _ratio_of(ratio: Ratio, number: int) -> float:
    return ratio if isinstance(ratio, float) else ratio[number]
