"""Instruments: what this machine allows an instrumented run to observe.

Counting system calls and sampling the clock cost the workers CPU, so no time is ever taken from
such a run: it follows the timed run of the same round, and gives that one what the clock cannot.
"""

from dataclasses import dataclass

from waitbench.model.metrics import SAMPLED, SYSTEM_CALLS, SYSTEM_STEADY, USER_STEADY


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What an instrumented run can observe here."""

    tracepoint: int | None = None
    """What system calls are counted by, as the kernel numbers it; ``None`` where they cannot be."""
    sampler: bool = False
    """Whether the clock of every CPU may be sampled."""

    @property
    def keys(self) -> frozenset[str]:
        """The metrics that only instrumented runs give, by their key."""
        counted = {SYSTEM_CALLS} if self.tracepoint is not None else set()
        split = {USER_STEADY, SYSTEM_STEADY, SAMPLED} if self.sampler else set()
        return frozenset(counted | split)


INSTRUMENTED = Instruments(tracepoint=0, sampler=True).keys
"""The metrics that some machine's instrumented runs give, by their key."""
