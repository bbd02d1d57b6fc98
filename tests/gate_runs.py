"""Rounds of two revisions made by hand, for tests of what judges them and tells of it."""

from collections.abc import Sequence

from tests.records import make_record, times
from waitbench.analysis import criteria, gate
from waitbench.analysis.gate import GateVerdict
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record

WOBBLE = (0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.008, 0.003, 0.0, -0.004)

Rounds = Sequence[tuple[float, float]]
"""User and system seconds of each."""


def rounds(user: float, system: float, count: int = 10) -> Rounds:
    """Rounds that hardly differ."""
    return [(user * (1 + w), system * (1 - w)) for w in WOBBLE[:count]]


def scaled(found: Rounds, user: float = 1.0, system: float = 1.0) -> Rounds:
    """The same rounds by these factors."""
    return [(u * user, s * system) for u, s in found]


def noisy(count: int, user: float = 1.0) -> Rounds:
    """Rounds whose system time is anywhere about half a second."""
    return [(user, 0.5 * (1 + 40 * w)) for w in WOBBLE[:count]]


def record_of(base: Rounds, candidate: Rounds, scenario: str = "waiting") -> Record:
    """A comparison of ``base`` with ``new``."""
    runs = {
        label: [times(5, user, system) for user, system in found]
        for label, found in (("base", base), ("new", candidate))
    }
    return make_record(runs, scenario=scenario)


def verdict_of(
    record: Record, *texts: str, strict: bool = False, most_rounds: int = 10
) -> GateVerdict:
    """What the gate says of one scenario."""
    return gate.conclude([record], criteria.parse(texts, METRICS), most_rounds, strict=strict)
