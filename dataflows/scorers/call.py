"""What one call of a scorer did."""

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
