"""The paged writer against the regular one, in one sitting: what is run, and what comes of it."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from waitbench.execution.plan import in_turn
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import Count, Positive, Quantity
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.store.plain import reading
from waitbench.system import machine
from waitbench.system.places import DATAFLOWS

KIND = "paging"
"""The name of the file, and the kind of results folder that ``paged-output`` makes."""

SIDES = ("regular", "paged")
PAGE_SIZE = 4096
BUFFER = 40_000
"""The writer's defaults, and those of the published tables."""
_PROGRAM = DATAFLOWS / "outputs" / "bench.py"
_TIME_LIMIT_S = 600


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: so many messages of a size, through one device."""

    device: str
    messages: Annotated[int, Meta(ge=1, le=10**15)]
    message_bytes: Count
    page_size: Count = PAGE_SIZE
    buffer: Count = BUFFER
    overflow: str = "drop-newest"
    published_speedup: Quantity | None = None
    """In the table of batchio's README (Erlang R16B, 2 GHz Core i7)."""
    published_dropped: Quantity | None = None
    """Share of messages, there."""

    @property
    def total_bytes(self) -> int:
        return self.messages * self.message_bytes

    @property
    def sheds(self) -> bool:
        """Whether it is about load shedding: the others have room for what gathers."""
        return self.buffer != BUFFER


def _published(device: str, messages: int, message_bytes: int, speedup: float, **more: Any) -> Row:
    return Row(
        device=device,
        messages=messages,
        message_bytes=message_bytes,
        published_speedup=speedup,
        **more,
    )


ROWS = (
    _published("noop", 10_000, 25, 1.79),
    _published("noop", 100_000, 25, 2.28),
    _published("noop", 1_000_000, 25, 2.13),
    _published("noop", 1_000_000, 100, 1.30),
    _published("passthrough", 10_000, 25, 5.71),
    _published("passthrough", 100_000, 25, 5.99),
    _published("passthrough", 100_000, 100, 2.19),
    _published("passthrough", 100_000, 100, 2.32, page_size=8192),
    _published("passthrough", 100_000, 100, 2.10, page_size=2048),
    _published("passthrough", 100_000, 100, 2.26, buffer=5_000, published_dropped=0.0),
    _published("passthrough", 100_000, 100, 2.05, buffer=100, published_dropped=0.0483),
    *(
        Row(device=device, messages=20_000, message_bytes=100, buffer=buffer)
        for device, buffer in (
            ("passthrough", 2),
            ("passthrough", 1),
            ("slow", 5_000),
            ("slow", 100),
        )
    ),
)
"""The rows of the published tables, in their order, the last two being of load shedding.

Then those where more is shed: no room for a page, and a device that is slower than the producer.
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A row with what came of it: medians of the repetitions, of one side each."""

    row: Row
    repetitions: Count
    regular_s: Positive
    paged_s: Positive
    regular_cpu_s: Positive
    paged_cpu_s: Quantity
    dropped: Count
    """The most of any repetition."""
    bytes_held_peak: Count
    """The most of any repetition."""

    @property
    def speedup(self) -> float:
        return self.regular_s / self.paged_s

    @property
    def bytes_allowed(self) -> int:
        """What the writer may hold at most: a full buffer, and a page under way."""
        return self.row.buffer * self.row.message_bytes + self.row.page_size


def measure(rows: Sequence[Row], repetitions: int, say: Callable[[str], None]) -> list[Measured]:
    """Runs every row, both sides turn by turn, in turned order. Raises ``HarnessError``."""
    measured = []
    for row in rows:
        say(
            f"{row.device}: {row.messages:,} × {row.message_bytes} bytes, "
            f"page {row.page_size}, buffer {row.buffer:,}"
        )
        measured.append(_measure_row(row, repetitions))
    return measured


def idle_share(seconds: float) -> float:
    """CPU of a writer that has nothing to send, as a share of one core. Raises ``HarnessError``."""
    nothing = Row(device="noop", messages=0, message_bytes=25)
    return _cpu_s(_run(nothing, "paged", idle_s=seconds)) / seconds


def _measure_row(row: Row, repetitions: int) -> Measured:
    runs: dict[str, list[Mapping[str, Any]]] = {side: [] for side in SIDES}
    for repetition in range(repetitions):
        for side in in_turn(SIDES, repetition):
            result = _run(row, side)
            if not row.messages == result["total"] == result["sent"] + result["dropped"]:
                raise HarnessError(f"Messages were lost without being counted: {result}")
            runs[side].append(result)
    regular, paged = (runs[side] for side in SIDES)
    return Measured(
        row=row,
        repetitions=repetitions,
        regular_s=median(result["seconds"] for result in regular),
        paged_s=median(result["seconds"] for result in paged),
        regular_cpu_s=median(map(_cpu_s, regular)),
        paged_cpu_s=median(map(_cpu_s, paged)),
        dropped=max(result["dropped"] for result in paged),
        bytes_held_peak=max(result["bytes_held_peak"] for result in paged),
    )


def _cpu_s(result: Mapping[str, Any]) -> float:
    return float(result["user_s"] + result["system_s"])


def _run(row: Row, output: str, idle_s: float = 0.0) -> Mapping[str, Any]:
    request = {
        "output": output,
        "device": row.device,
        "messages": row.messages,
        "message_bytes": row.message_bytes,
        "page_size": row.page_size,
        "buffer": row.buffer,
        "overflow": row.overflow,
        "idle_s": idle_s,
    }
    try:
        done = subprocess.run(
            [sys.executable, str(_PROGRAM), json.dumps(request)],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIME_LIMIT_S,
        )
    except subprocess.CalledProcessError as error:
        raise HarnessError(f"{_PROGRAM.name} failed:\n{error.stderr[-1000:]}") from error
    except subprocess.TimeoutExpired as error:
        raise HarnessError(f"{_PROGRAM.name} did not end within {_TIME_LIMIT_S} s.") from error
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


class Paging(msgspec.Struct, frozen=True, rename={"measured": "rows"}):
    """The rows of a sitting."""

    measured: Sequence[Measured]
    idle_share: Quantity
    """CPU of a paged writer that has nothing to send, as a share of one core."""


def keep(folder: Path, paging: Paging) -> None:
    """Writes ``paging.json``. Raises ``HarnessError`` when the disk refuses."""
    content = {"machine": machine.describe(), **msgspec.to_builtins(paging)}
    comparisons.write_document(folder, KIND, content)


def kept_paging(contents: Contents) -> Paging | None:
    """What ``keep`` left in a results folder; ``None`` where there is nothing.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    document = contents.documents.get(KIND)
    if document is None:
        return None
    with reading(contents.folder / f"{KIND}.json"):
        return msgspec.convert(document, Paging)
