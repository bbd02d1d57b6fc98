"""Rows of the published tables, measured by hand."""

from typing import Any

from waitbench.families.paged_output.paging import Measured, Row


def measured(device: str = "noop", messages: int = 1000, **changes: Any) -> Measured:
    """A row of messages of 25 bytes: 2 s and 1 s of CPU one by one, a quarter of that in pages."""
    names = ("page_size", "buffer", "published_speedup", "published_dropped")
    of_row = {name: changes.pop(name) for name in names if name in changes}
    known: dict[str, Any] = {
        "row": Row(device=device, messages=messages, message_bytes=25, **of_row),
        "repetitions": 3,
        "regular_s": 2.0,
        "paged_s": 0.5,
        "regular_cpu_s": 1.0,
        "paged_cpu_s": 0.25,
        "dropped": 0,
        "bytes_held_peak": 2048,
    }
    return Measured(**{**known, **changes})
