"""Traces: which system calls the workers of one run made, by name and phase."""

from collections.abc import Mapping
from dataclasses import dataclass

STARTUP, STEADY, SHUTDOWN = "startup", "steady", "shutdown"
PHASES = (STARTUP, STEADY, SHUTDOWN)
"""To the first poll, to the end of input, to the end of the process."""


@dataclass(frozen=True, kw_only=True)
class Calls:
    """One system call in one phase, over all workers."""

    count: int
    cpu_s: float
    """Time on a CPU within it; while a call blocks, its clock stands still."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The system calls of one run of one revision."""

    label: str
    lasted_s: Mapping[str, float]
    """How long each phase was, by its name: the mean of the workers."""
    calls: Mapping[tuple[str, str], Calls]
    """By phase and name of the system call."""

    def count(self, phase: str, name: str) -> int:
        """How often a system call was made in a phase."""
        made = self.calls.get((phase, name))
        return made.count if made else 0

    def per_second(self, phase: str, name: str) -> float:
        """How often a second, over all workers; 0 in a phase that took no time."""
        lasted_s = self.lasted_s.get(phase, 0.0)
        return self.count(phase, name) / lasted_s if lasted_s > 0 else 0.0

    def cpu_s(self, phase: str, name: str) -> float:
        """Time on a CPU within a system call in a phase."""
        made = self.calls.get((phase, name))
        return made.cpu_s if made else 0.0
