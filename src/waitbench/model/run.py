"""Runs: what is planned, and what came of it, a number or a reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from waitbench.model.metrics import BEYOND, STOP, Count, Metric, Quantity
from waitbench.model.scenario import Scenario

WARM_UP = 0
"""The number of the round whose figures are not kept."""

MEASURED = "ok"
"""What result files have where others have the reason of an outcome."""
FAILED = "failed"
TIMED_OUT = "timed-out"
LOST_ITEMS = "lost-items"
NOT_BUILT = "not-built"
"""The outcome of a revision that has no environment."""
NOT_SUPPORTED = "not-supported"
"""The outcome of a scenario that needs what a revision cannot do: said, but no failure."""
ENDED = "ended"
"""The outcome of a worker that has ended in a phase in which it may."""
UNABLE = frozenset({NOT_SUPPORTED, ENDED})
"""Outcomes of a revision of which there is nothing to compare in a scenario, and need not be."""
DISTURBED = "disturbed"
"""The mark of a run while the machine did something else; the outcome of a repeated one."""
REPEATED = "repeated"
"""The outcome of a run of an earlier session that a resumed one makes anew, with its round."""
CROWDED = "crowded"
"""The outcome of a run at once with others, where these were in each other's way."""
HARMLESS = UNABLE | {DISTURBED, REPEATED, CROWDED}
"""Outcomes that do not make a comparison fail."""

RESTARTED = "restarted"
"""The mark of a run in which processes of the worker began while it was to wait."""
BY_PROC = "by-proc"
"""The mark of a run that the kernel did not count: it was read from /proc, as long as it lived."""
SIDE_BY_SIDE = "side-by-side"
"""The mark of a run that took place at once with others of its scenario."""
INCOMPLETE = "incomplete"
"""The mark of a run that did not answer, or not end, as it should: see ``Measurement``."""
SENT_AT_END = "sent-at-end"
"""The mark of a run whose poke said ``sent`` as it ended: lateness counts from its start."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of one revision."""

    scenario: Scenario
    label: str
    round: int
    """1 and up; 0 is the warm-up."""
    position: int
    """Its place within the round, from 0."""


class Lack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run that counts has no value of a metric."""

    why: str
    more_than: Quantity | None = None
    """The time limit that the value exceeds (it is right-censored); ``None``: nothing is known."""


class Measurement(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True,
    rename={"label": "revision"}, tag_field="outcome", tag=MEASURED,
):  # fmt: skip
    """A run that passed its checks."""

    label: str
    round: Count
    position: Count
    started_at: str
    """ISO 8601, UTC."""
    metrics: Mapping[str, Quantity]
    """By the metric's key in files, in its unit."""
    marks: tuple[str, ...] = ()
    """What is odd about it: ``disturbed``, ``restarted``."""
    incomplete: Mapping[str, Lack] = {}
    """What it lacks, by the metric's key: its poke went unanswered, or its end was bad."""
    loaded: Mapping[str, str] = {}
    """SHA-256 of each file that a program had loaded, by path; of its first run only."""
    left: str = ""
    """The command lines of what its commands left behind, which was told to end, too."""

    @property
    def is_unanswered(self) -> bool:
        """Whether its poke was not answered within its time limit."""
        return any(
            lack.more_than is not None for key, lack in self.incomplete.items() if key != STOP.key
        )

    def cost(self, metric: Metric) -> float | None:
        """The value of a metric, ``BEYOND`` where its time limit passed first, if it has either."""
        lack = self.incomplete.get(metric.key)
        is_beyond = lack is not None and lack.more_than is not None
        return BEYOND if is_beyond else self.metrics.get(metric.key)


class Outcome(
    msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision", "reason": "outcome"}
):
    """A run that gave no measurement."""

    label: str
    round: Count
    position: Count
    started_at: str
    reason: str
    """``failed``, ``timed-out``, ``lost-items``, ``not-built``; and the harmless ones."""
    message: str
    log: str = ""
    """The end of what the run printed."""


Result = Measurement | Outcome


def set_aside(result: Result, reason: str, message: str) -> Outcome:
    """The outcome that a result becomes when its run is made anew."""
    return Outcome(
        label=result.label,
        round=result.round,
        position=result.position,
        started_at=result.started_at,
        reason=reason,
        message=message,
        log=result.log if isinstance(result, Outcome) else "",
    )
