"""One run of one way to write: messages as fast as possible, until the last is done with.

A message is done with when it is acknowledged or shed, by either way to write. Prints JSON.

python bench.py '{"output": "paged", "device": "noop", "messages": 100000, "message_bytes": 25}'
"""

import json
import os
import random
import resource
import sys
import time
from typing import Dict, Union

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from outputs.device import Server
from outputs.paged import PagedWriter
from outputs.regular import RegularWriter
from outputs.settings import BUFFER, PAGE_SIZE

_KINDS = 1000
_WARM_UP_MESSAGES = 500


def main() -> None:
    print(json.dumps(run(**json.loads(sys.argv[1]))))


def run(
    output: str,
    device: str,
    messages: int,
    message_bytes: int,
    page_size: int = PAGE_SIZE,
    buffer: int = BUFFER,
    overflow: str = "drop-newest",
    idle_s: float = 0.0,
) -> Dict[str, float]:
    """Measures seconds, CPU seconds of this process, and the writer's counts, once it is warm.

    With ``idle_s``, the writer is idle for so long first, and that is measured too.
    """
    rng = random.Random(1)
    lines = [bytes(rng.choices(range(97, 123), k=message_bytes - 1)) + b"\n" for _ in range(_KINDS)]
    server = Server(device)
    connection = server.connect()
    writer: Union[RegularWriter, PagedWriter] = (
        RegularWriter(connection)
        if output == "regular"
        else PagedWriter(connection, page_size, buffer, overflow)
    )
    for line in lines[:_WARM_UP_MESSAGES]:
        writer.send(line)
    if isinstance(writer, PagedWriter):
        writer.flush()
    warm = writer.stats()
    used, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    time.sleep(idle_s)
    send = writer.send
    for number in range(messages):
        send(lines[number % _KINDS])
    if isinstance(writer, PagedWriter):
        writer.flush()
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    stats = writer.stats()
    writer.close()
    server.close()
    return {
        "seconds": seconds,
        "user_s": after.ru_utime - used.ru_utime,
        "system_s": after.ru_stime - used.ru_stime,
        "total": stats.total - warm.total,
        "sent": stats.sent - warm.sent,
        "dropped": stats.dropped - warm.dropped,
        "bytes_held_peak": stats.bytes_held_peak,
    }


if __name__ == "__main__":
    main()
