"""What a writer says of itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """Counts of messages; ``total == sent + dropped + in_flight``, always."""

    total: int
    """Handed to the writer."""
    sent: int
    """Acknowledged by the device."""
    dropped: int
    """Shed because the buffer was full, or lost because the device failed."""
    in_flight: int
    """In the buffer, or in a page under way."""
    direct: int
    """Those of ``sent`` that were written one by one, without a sending thread."""
    bytes_held: int
    """The size of the messages in flight."""
    bytes_held_peak: int
