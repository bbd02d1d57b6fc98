"""Makes a topic, sends one run's messages through it when they are due, and removes it.

    BROKER=kafka://127.0.0.1:9092 PARTITIONS=16 ITEMS_PER_PARTITION=20 INTERVAL=0.25 PORT=8090 \\
        python -m services.kafka.producer

Each partition begins with a message that says so. Workers say which of these they have had, and
when they have had those of all partitions, the schedule begins: every partition is being read then,
and nothing is late because a worker was still starting. Each partition ends with a message too,
when its input is over. dataflows/support/topic.py is the other end.

What comes on PORT is a line: ``TOPIC`` is answered by the broker's address and the topic's name,
``READ 3`` says that partition 3 is being read, and ``GET …`` is HTTP, answered by what has been
counted.
"""

import json
import os
import random
import signal
import socketserver
import struct
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from heapq import merge
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

MESSAGE = struct.Struct("<qqB")
"""Identity, when it was due (ns, monotonic), a random digit; see dataflows/support/topic.py."""
BEGIN, END = -1, -2
"""Identities of what is no item."""

_ADMIN_S = 20.0
_REMOVAL_S = 2.0
"""A broker may be gone before the topic is."""
_FLUSH_S = 20.0
_POLL_NS = 1_000_000
_LONGEST_POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What is sent to each partition, and when; as dataflows/support/items.py has it."""

    partitions: int
    items: int
    interval_s: float
    burst: int
    idle_s: float
    silent: int
    seed: int

    @classmethod
    def from_environment(cls) -> "Schedule":
        def setting(name: str, default: str) -> float:
            return float(os.environ.get(name, default))

        return cls(
            partitions=int(setting("PARTITIONS", "16")),
            items=int(setting("ITEMS_PER_PARTITION", "20")),
            interval_s=setting("INTERVAL", "0"),
            burst=int(setting("BURST", "1")),
            idle_s=setting("IDLE", "0"),
            silent=int(setting("SILENT", "0")),
            seed=int(setting("SEED", "1")),
        )

    def messages(self) -> Iterator[tuple[int, int, int, int]]:
        """Of all partitions by time: when it is due, partition, identity, digit.

        Times are ns from the beginning.
        """
        return merge(*(self._of_partition(number) for number in range(self.partitions)))

    def _of_partition(self, number: int) -> Iterator[tuple[int, int, int, int]]:
        interval_ns, idle_ns = int(self.interval_s * 1e9), int(self.idle_s * 1e9)
        if number >= self.partitions - self.silent:
            yield idle_ns, number, END, 0
            return
        first = number * self.items
        digit = random.Random(self.seed * 1_000_003 + first).randrange
        due_ns = 0
        for place in range(self.items):
            due_ns = interval_ns * (place // self.burst + 1)
            yield due_ns, number, first + place, digit(10)
        yield due_ns + (0 if self.silent else idle_ns), number, END, 0


class Run:
    """One topic from its making to its removal."""

    def __init__(self, broker: str, schedule: Schedule) -> None:
        self.broker = broker
        self.topic = f"waitbench-{uuid.uuid4().hex[:12]}"
        self._schedule = schedule
        self._waiting = set(range(schedule.partitions))
        self._all_read = threading.Event()
        self._lock = threading.Lock()
        self._delays_ns: list[int] = []
        self._error: KafkaError | None = None
        self._admin = AdminClient({"bootstrap.servers": broker})
        self._producer = Producer({"bootstrap.servers": broker, "linger.ms": 0})

    def make_topic(self) -> None:
        """Makes the topic, with the first message of each partition in it."""
        wanted = NewTopic(self.topic, self._schedule.partitions, 1)
        made = self._admin.create_topics([wanted], operation_timeout=_ADMIN_S)[self.topic]
        made.result(_ADMIN_S)
        for number in range(self._schedule.partitions):
            self._send(number, BEGIN, time.monotonic_ns(), 0)
        self._flush()

    def remove_topic(self) -> None:
        with suppress(KafkaException, TimeoutError, FutureTimeoutError):
            removed = self._admin.delete_topics(
                [self.topic], operation_timeout=_REMOVAL_S, request_timeout=_REMOVAL_S
            )
            removed[self.topic].result(_REMOVAL_S)

    def is_read(self, number: int) -> None:
        """A worker has had the first message of a partition."""
        with self._lock:
            self._waiting.discard(number)
            if not self._waiting:
                self._all_read.set()

    def send(self) -> None:
        """Sends everything when it is due. Raises ``KafkaException`` for what does not arrive."""
        self._all_read.wait()
        begun_ns = time.monotonic_ns()
        for after_ns, partition, ident, digit in self._schedule.messages():
            due_ns = begun_ns + after_ns
            while (left_ns := due_ns - time.monotonic_ns()) > 0:
                # What has arrived is told of meanwhile, and the end: not too long at once. The
                # library counts in whole milliseconds.
                if left_ns >= _POLL_NS:
                    self._producer.poll(min(left_ns // _POLL_NS / 1e3, _LONGEST_POLL_S))
                else:
                    time.sleep(left_ns / 1e9)
            self._send(partition, ident, due_ns, digit)
        self._flush()

    def counts(self) -> dict[str, float]:
        """How many messages have arrived, and how long after they were due."""
        delays_ns = sorted(self._delays_ns)
        last = len(delays_ns) - 1
        return {
            "messages": float(len(delays_ns)),
            "delay_p50_s": delays_ns[last // 2] / 1e9 if delays_ns else 0.0,
            "delay_p99_s": delays_ns[int(last * 0.99)] / 1e9 if delays_ns else 0.0,
        }

    def _send(self, partition: int, ident: int, due_ns: int, digit: int) -> None:
        def arrived(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                self._error = error
            elif ident >= 0:
                self._delays_ns.append(time.monotonic_ns() - due_ns)

        value = MESSAGE.pack(ident, due_ns, digit)
        while True:
            try:
                self._producer.produce(self.topic, value, partition=partition, on_delivery=arrived)
                break
            except BufferError:
                self._producer.poll(0.01)
        self._producer.poll(0)

    def _flush(self) -> None:
        left = self._producer.flush(_FLUSH_S)
        if self._error is not None:
            raise KafkaException(self._error)
        if left:
            raise KafkaException(f"{left} messages have not arrived after {_FLUSH_S:g} s")


def serve(run: Run, port: int) -> None:
    """Answers workers, and the harness, from now on."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                what, _, rest = line.decode("ascii", "replace").strip().partition(" ")
                if what == "TOPIC":
                    self.wfile.write(f"{run.broker} {run.topic}\n".encode())
                elif what == "READ":
                    run.is_read(int(rest))
                else:
                    body = json.dumps(run.counts())
                    self.wfile.write(f"HTTP/1.0 200 OK\r\n\r\n{body}".encode())
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def end_when_told(*, also_by_stdin: bool) -> None:
    """Has SIGTERM, or the end of the standard input, end this program in order."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    def watch() -> None:
        # Not by sys.stdin: its lock would be held when the interpreter ends.
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if also_by_stdin:
        threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    broker = urllib.parse.urlsplit(os.environ["BROKER"]).netloc
    end_when_told(also_by_stdin=bool(os.environ.get("EXIT_WITH_STDIN")))
    run = Run(broker, Schedule.from_environment())
    try:
        run.make_topic()
        serve(run, int(os.environ["PORT"]))
        run.send()
        signal.pause()
    except KafkaException as error:
        raise SystemExit(f"the broker at {broker}: {error}") from error
    finally:
        run.remove_topic()


if __name__ == "__main__":
    main()
