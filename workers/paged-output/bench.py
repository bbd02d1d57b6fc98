"""Writes messages to a device as fast as possible, until the last is done with.

    python bench.py HOW DEVICE MESSAGES SIZE PAGE BUFFER OVERFLOW METRICS

HOW is ``regular`` (each message waits for its acknowledgement) or ``batched`` (in pages). A message
is done with when it is acknowledged or shed.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import TypeAlias

from device import Server
from paged import PagedWriter
from regular import RegularWriter

Writer: TypeAlias = RegularWriter | PagedWriter

_KINDS = 1000
_WARM_UP_MESSAGES = 500


def main(
    how: str, device: str, messages: str, size: str, page: str, buffer: str, overflow: str,
    metrics: str,
) -> None:  # fmt: skip
    server = Server(device)
    connection = server.connect()
    writer: Writer = (
        RegularWriter(connection)
        if how == "regular"
        else PagedWriter(connection, int(page), int(buffer), overflow)
    )
    rng = random.Random(1)
    kinds = [bytes(rng.choices(range(97, 123), k=int(size) - 1)) + b"\n" for _ in range(_KINDS)]
    write(writer, kinds[:_WARM_UP_MESSAGES], _WARM_UP_MESSAGES)
    print("ready", flush=True)
    found = write(writer, kinds, int(messages))
    writer.close()
    server.close()
    Path(metrics).write_text(json.dumps(found) + "\n", "utf-8")


def write(writer: Writer, kinds: list[bytes], messages: int) -> dict[str, float]:
    """Seconds, CPU seconds of this process, and counts of messages, by metric."""
    before, used_s, begun = writer.stats(), time.process_time(), time.perf_counter()
    send = writer.send
    for number in range(messages):
        send(kinds[number % len(kinds)])
    if isinstance(writer, PagedWriter):
        writer.flush()
    taken_s = time.perf_counter() - begun
    after = writer.stats()
    total, dropped = after.total - before.total, after.dropped - before.dropped
    if not messages == total == after.sent - before.sent + dropped:
        raise SystemExit(f"messages were lost without being counted: {before}, {after}")
    return {
        "time": taken_s,
        "rate": messages / taken_s,
        "total": total,
        "dropped": dropped,
        "held": after.bytes_held_peak,
        "writer-cpu": time.process_time() - used_s,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
