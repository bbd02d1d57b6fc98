"""Runs: planned ones, and their results, which are measurements or failed runs."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from waitbench.model.metrics import CENSORED, STOP, WINDOW, Count, Metric, Quantity
from waitbench.model.scenario import Scenario

WARM_UP = 0
"""The number of the round of warm-ups, which do not count."""
MEASURED = "ok"
"""The outcome of a measurement in result files. Other outcomes are reasons of failed runs."""

# Reasons of failed runs.
FAILED = "failed"
TIMED_OUT = "timed-out"
LOST_ITEMS = "lost-items"
NOT_BUILT = "not-built"
NOT_SUPPORTED = "not-supported"
"""The revision lacks a capability that the scenario needs."""
ENDED = "ended"
"""The worker ended in a phase, and its worker file allows that (``may_end``)."""
UNABLE = frozenset({NOT_SUPPORTED, ENDED})
"""Reasons why a revision cannot be measured in a scenario, although nothing failed."""
DISTURBED = "disturbed"
"""Other programs used CPU: the run is repeated. A disturbed repeat counts, with this mark."""
SUPERSEDED = "repeated"
"""Discarded by a resumed session: a run of an incomplete round, or a failed warm-up."""
INTERFERED = "crowded"
"""Concurrent runs disturbed each other."""
HARMLESS = UNABLE | {DISTURBED, SUPERSEDED, INTERFERED}
"""Reasons that do not make a comparison fail."""

# Marks of measurements.
RESTARTED = "restarted"
"""Processes of the worker began in the window, in which it waits."""
BY_PROC = "by-proc"
"""Figures of the window were read from /proc, because no counters were available."""
CONCURRENT = "side-by-side"
INCOMPLETE = "incomplete"
"""The poke went unanswered, the shutdown failed, or counting ended: see ``incomplete``."""
SENT_AT_END = "sent-at-end"
"""The poke's command printed ``sent`` only as it ended: lateness counts from its start."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run to be made."""

    scenario: Scenario
    label: str
    round: int
    """``WARM_UP``, or from 1."""
    position: int
    """The place of the run in its round, from 0."""


class Lack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lack of a metric in a measurement."""

    why: str
    more_than: Quantity | None = None
    """A time limit in seconds that the value exceeds; ``None``: the value is unknown."""


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
    """The metrics that a run lacks, by key, if it is ``INCOMPLETE``."""
    loaded: Mapping[str, str] = {}
    """SHA-256, by path, of files that a program loaded; only in the first run of a revision."""
    left: str = ""
    """Command lines of processes that ran on 1 s after the worker's end, and were ended."""

    @property
    def is_unanswered(self) -> bool:
        """Whether the worker did not handle the poke within its time limit."""
        return any(
            lack.more_than is not None for key, lack in self.incomplete.items() if key != STOP.key
        )

    @property
    def window_s(self) -> float | None:
        """The length of its window; ``None`` if unknown."""
        if WINDOW in self.metrics:
            return self.metrics[WINDOW]
        idle_s, cores = (self.metrics.get(key) for key in ("time_cpu_idle", "cpu_share_idle"))
        return idle_s / cores if idle_s and cores else None

    def cost(self, metric: Metric) -> float | None:
        """The value of a metric; ``CENSORED`` if it exceeds a time limit, ``None`` if unknown."""
        lack = self.incomplete.get(metric.key)
        is_censored = lack is not None and lack.more_than is not None
        return CENSORED if is_censored else self.metrics.get(metric.key)


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
    """Turns a result that does not count, because its run is made again, into a failed run."""
    return FailedRun(
        label=result.label,
        round=result.round,
        position=result.position,
        started_at=result.started_at,
        reason=reason,
        message=message,
        log=result.log if isinstance(result, FailedRun) else "",
    )
