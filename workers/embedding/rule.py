"""When a batch leaves.

Two rules. ``fixed``: a batch leaves when ``max_batch_size`` requests wait, or ``max_wait_s`` have
passed since the first of them came. ``adaptive``: that, and also at once whenever nothing is under
way upstream. To wait is worth something only while the upstream is busy anyway: what comes
meanwhile travels together when it is free. So no request leaves later than by the fixed rule.
"""

from dataclasses import dataclass
from enum import Enum


class Mode(str, Enum):
    """When a batch leaves."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class Rule:
    """When a batch leaves, and how much is held."""

    mode: Mode
    max_batch_size: int
    """Requests."""
    max_wait_s: float
    max_held: int = 1000
    """Requests waiting and under way."""
    max_batch_bytes: int = 2_000_000
    """A request that is larger travels alone."""
