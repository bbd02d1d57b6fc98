"""Runs: their plans, and their results, which are measurements or reasons for having none."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from waitbench.model.metrics import BEYOND, STOP, Count, Metric, Quantity
from waitbench.model.scenario import Scenario

WARM_UP = 0

MEASURED = "ok"
"""The outcome of a measurement in result files."""

# The reasons of outcomes.
FAILED = "failed"
TIMED_OUT = "timed-out"
LOST_ITEMS = "lost-items"
NOT_BUILT = "not-built"
NOT_SUPPORTED = "not-supported"
"""The revision lacks a capability that the scenario needs."""
ENDED = "ended"
"""The worker has ended in a phase in which it may."""
UNABLE = frozenset({NOT_SUPPORTED, ENDED})
"""There is nothing to compare, and that is no failure."""
DISTURBED = "disturbed"
"""Other programs used the machine; also a mark of runs that count all the same."""
SUPERSEDED = "repeated"
"""A resumed session repeats the run together with its round."""
INTERFERED = "crowded"
"""Concurrent runs were in each other's way."""
HARMLESS = UNABLE | {DISTURBED, SUPERSEDED, INTERFERED}
"""Outcomes that do not make a comparison fail."""

# The marks of measurements.
RESTARTED = "restarted"
"""Processes of the worker began while it was to wait."""
BY_PROC = "by-proc"
"""Its figures were read from /proc while it lived, instead of being counted by the kernel."""
CONCURRENT = "side-by-side"
INCOMPLETE = "incomplete"
"""It did not answer, or end, as it should: see ``Measurement``."""
SENT_AT_END = "sent-at-end"
"""Its poke reported ``sent`` as it ended, so lateness counts from the start of the poke."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run to be made."""

    scenario: Scenario
    label: str
    round: int
    """``WARM_UP``, or from 1."""
    position: int


class Lack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lack of one metric in a run that counts."""

    why: str
    more_than: Quantity | None = None
    """The time limit that the (right-censored) value exceeds; ``None``: nothing is known."""


class Measurement(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True,
    rename={"label": "revision"}, tag_field="outcome", tag=MEASURED,
):  # fmt: skip
    """A run that passed its checks."""

    label: str
    round: Count
    position: Count
    started_at: str
    metrics: Mapping[str, Quantity]
    marks: tuple[str, ...] = ()
    incomplete: Mapping[str, Lack] = {}
    """Lacking metrics by key: the poke went unanswered, or the shutdown failed."""
    loaded: Mapping[str, str] = {}
    """SHA-256 of each file that a program had loaded, by path; in its first run only."""
    left: str = ""
    """Command lines of the processes that its commands left behind, and that were ended, too."""

    @property
    def is_unanswered(self) -> bool:
        return any(
            lack.more_than is not None for key, lack in self.incomplete.items() if key != STOP.key
        )

    def cost(self, metric: Metric) -> float | None:
        """The value of a metric if known; ``BEYOND`` if its time limit passed first."""
        lack = self.incomplete.get(metric.key)
        is_beyond = lack is not None and lack.more_than is not None
        return BEYOND if is_beyond else self.metrics.get(metric.key)


class FailedRun(
    msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision", "reason": "outcome"}
):
    """A run without a measurement."""

    label: str
    round: Count
    position: Count
    started_at: str
    reason: str
    message: str
    log: str = ""


Result = Measurement | FailedRun


def discard_as(result: Result, reason: str, message: str) -> FailedRun:
    """Turns a result into an outcome, as its run is repeated."""
    return FailedRun(
        label=result.label,
        round=result.round,
        position=result.position,
        started_at=result.started_at,
        reason=reason,
        message=message,
        log=result.log if isinstance(result, FailedRun) else "",
    )
