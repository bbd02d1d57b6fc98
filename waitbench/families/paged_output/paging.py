"""The paged writer against the regular one, both sides in one sitting: what is run, and what comes of it."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from waitbench.model.errors import HarnessError
from waitbench.system.places import DATAFLOWS

_PROGRAM = DATAFLOWS / "outputs" / "bench.py"
_TIME_LIMIT_S = 600


@dataclass(frozen=True)
class Row:
    """One row of a table: so many messages of a size, through one device."""

    device: str
    messages: int
    message_bytes: int
    page_size: int = 4096
    buffer: int = 40_000
    overflow: str = "drop-newest"
    published_speedup: float | None = None
    """In the table of batchio's README (Erlang R16B, 2 GHz Core i7)."""
    published_dropped: float | None = None
    """Share of messages, there."""

    @property
    def total_bytes(self) -> int:
        return self.messages * self.message_bytes


ROWS = (
    Row("noop", 10_000, 25, published_speedup=1.79),
    Row("noop", 100_000, 25, published_speedup=2.28),
    Row("noop", 1_000_000, 25, published_speedup=2.13),
    Row("noop", 1_000_000, 100, published_speedup=1.30),
    Row("passthrough", 10_000, 25, published_speedup=5.71),
    Row("passthrough", 100_000, 25, published_speedup=5.99),
    Row("passthrough", 100_000, 100, published_speedup=2.19),
    Row("passthrough", 100_000, 100, page_size=8192, published_speedup=2.32),
    Row("passthrough", 100_000, 100, page_size=2048, published_speedup=2.10),
    Row("passthrough", 100_000, 100, buffer=5_000, published_speedup=2.26, published_dropped=0.0),
    Row("passthrough", 100_000, 100, buffer=100, published_speedup=2.05, published_dropped=0.0483),
)
"""Those of the published tables, in their order, and the two of load shedding."""


@dataclass(frozen=True)
class Measured:
    """A row with what came of it: medians of the repetitions, of one side each."""

    row: Row
    repetitions: int
    regular_s: float
    paged_s: float
    regular_cpu_s: float
    paged_cpu_s: float
    dropped: int
    """The most of any repetition."""
    bytes_held_peak: int
    """The most of any repetition."""

    @property
    def speedup(self) -> float:
        return self.regular_s / self.paged_s

    @property
    def bytes_allowed(self) -> int:
        """What the writer may hold at most: a full buffer, and a page under way."""
        return self.row.buffer * self.row.message_bytes + self.row.page_size


def measure(rows: Sequence[Row], repetitions: int, largest: int | None, say: Callable[[str], None]) -> list[Measured]:
    """Runs every row, both sides turn by turn; none with more than ``largest`` messages. Raises ``HarnessError``."""
    done = []
    for row in rows:
        if largest is not None and row.messages > largest:
            continue
        say(f"{row.device}: {row.messages:,} × {row.message_bytes} bytes, page {row.page_size}, buffer {row.buffer:,}")
        regular, paged = [], []
        for _ in range(repetitions):
            regular.append(_run(row, "regular"))
            paged.append(_run(row, "paged"))
        for result in (*regular, *paged):
            if result["total"] != row.messages or result["total"] != result["sent"] + result["dropped"]:
                raise HarnessError(f"Messages were lost without being counted: {result}")
        done.append(
            Measured(
                row,
                repetitions,
                _median(regular, "seconds"),
                _median(paged, "seconds"),
                statistics.median(r["user_s"] + r["system_s"] for r in regular),
                statistics.median(r["user_s"] + r["system_s"] for r in paged),
                max(result["dropped"] for result in paged),
                max(result["bytes_held_peak"] for result in paged),
            )
        )
    return done


def idle_share(seconds: float) -> float:
    """CPU of a writer that has nothing to send, as a share of one core."""
    result = _run(Row("noop", 0, 25), "paged", idle_s=seconds)
    return float((result["user_s"] + result["system_s"]) / seconds)


def as_plain(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    return [asdict(one) for one in measured]


def from_plain(data: Sequence[Mapping[str, Any]]) -> list[Measured]:
    return [Measured(**{**one, "row": replace(Row("", 0, 0), **one["row"])}) for one in data]


def _median(results: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(statistics.median(result[key] for result in results))


def _run(row: Row, output: str, idle_s: float = 0.0) -> Mapping[str, Any]:
    request = {
        "output": output, "device": row.device, "messages": row.messages, "message_bytes": row.message_bytes,
        "page_size": row.page_size, "buffer": row.buffer, "overflow": row.overflow, "idle_s": idle_s,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, str(_PROGRAM), json.dumps(request)],
            capture_output=True, text=True, check=True, timeout=_TIME_LIMIT_S,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        raise HarnessError(f"{_PROGRAM.name} failed:\n{error.stderr[-1000:]}") from error
    except subprocess.TimeoutExpired as error:
        raise HarnessError(f"{_PROGRAM.name} did not end within {_TIME_LIMIT_S} s.") from error
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found
