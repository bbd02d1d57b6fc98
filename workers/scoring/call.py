"""What one call of a scorer did, and what it may be about."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Call:
    """Times in seconds, counts in lines. All from the worker's side."""

    pending_before: int = 0
    """Lines of earlier calls whose predictions were still to come when this call began."""
    pending_after: int = 0
    """How many of those were still to come after the clean-up; they are thrown away on arrival."""
    cleanup_s: float = 0.0
    prepare_s: float = 0.0
    """From the call's begin to its first line, the clean-up included."""
    total_s: float = 0.0
    lines: int = 0
    """Predictions handed out."""


def require_lines(context: bytes, candidates: Sequence[bytes]) -> None:
    """Raises ``ValueError`` unless a context and a candidate make one line, for one answer."""
    # Joined first: a test of each would take as long as a hundred predictions.
    if b"\n" in context or b"\n" in b"".join(candidates):
        culprits = [part for part in (context, *candidates) if b"\n" in part]
        raise ValueError(f"{culprits[0][:80]!r} is more than a line")


def are_finite(predictions: Sequence[float]) -> bool:
    """Whether none is infinite, or not a number."""
    return math.isfinite(sum(predictions)) or all(map(math.isfinite, predictions))
