"""Maps lines, in windows of a second if asked: pathway_flow.py PORT 0|1 AUTOCOMMIT-MS."""

import socket
import sys
import time
from typing import Any

import pathway as pw

PORT, WINDOWED, AUTOCOMMIT_MS = map(int, sys.argv[1:])


class Lines(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """Reads lines in a thread of Pathway's, which blocks until there is one."""

    def run(self) -> None:
        with socket.create_connection(("127.0.0.1", PORT)) as connection:
            print("ready", flush=True)
            for line in connection.makefile():
                self.next(text=line.strip(), at_s=int(time.time()))


class Row(pw.Schema):  # type: ignore[misc]
    """A line, and when it was read."""

    text: str
    at_s: int


def write(key: object, row: "dict[str, Any]", time: int, is_addition: bool) -> None:
    """Called for each change of the last table."""
    if is_addition:
        print("Got", row["text"], flush=True)


# Pathway reports on its use only where there is a key or a server to report to.
pw.set_license_key(None)
pw.set_monitoring_config(server_endpoint=None)
table = pw.io.python.read(Lines(), schema=Row, autocommit_duration_ms=AUTOCOMMIT_MS)
if WINDOWED:
    table = table.windowby(
        table.at_s,
        window=pw.temporal.tumbling(duration=1),
        behavior=pw.temporal.common_behavior(cutoff=60),
    ).reduce(text=pw.reducers.max(pw.this.text))
pw.io.subscribe(table.select(text=pw.apply(str.lower, table.text)), on_change=write)
pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)
