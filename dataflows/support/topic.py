"""The topic of a run, as a worker reads it: where it is, and what its messages mean.

services/kafka/producer.py makes it, and is the other end. Each partition begins with a message that
says so, and ends with one: carriers hand the value of every message to ``Partition.got``, which
gives an item for an item, and ``None`` for what is none.

``BENCH_SERVICE_URL`` says where the producer is. It is told which partitions are being read, and
sends nothing before all are, so that nothing is late because a worker was still starting.
"""

import atexit
import os
import socket
import struct
import urllib.parse
from typing import Dict, List, NamedTuple, Optional, Tuple

from . import probe
from .items import Item

URL_VARIABLE = "BENCH_SERVICE_URL"
_MESSAGE = struct.Struct("<qqB")
_BEGIN = -1
_TIMEOUT_S = 30.0
_THREADS = "/proc/self/task"


class Settings(NamedTuple):
    """How a consumer is to read."""

    fetch_wait_max_ms: int
    """How long the broker may hold an answer back that would be empty."""
    batch_size: int
    """Messages that are taken from the client library at once, where an engine lets one choose."""

    @property
    def client(self) -> Dict[str, str]:
        """As the client library librdkafka has it."""
        return {"fetch.wait.max.ms": str(self.fetch_wait_max_ms)}


class Topic:
    """The topic of this run."""

    def __init__(self, partitions: int, settings: Settings) -> None:
        url = os.environ.get(URL_VARIABLE)
        if not url:
            raise ValueError(
                "set %s to the producer, such as http://127.0.0.1:8090: see docs/kafka.md"
                % URL_VARIABLE
            )
        where = urllib.parse.urlsplit(url)
        address = (where.hostname or "127.0.0.1", where.port or 80)
        self._producer = socket.create_connection(address, _TIMEOUT_S)
        self._producer.sendall(b"TOPIC\n")
        self.broker, self.name = self._answer()
        self.partitions = partitions
        self.settings = settings
        self._threads = 0
        self._open: List[Partition] = []
        atexit.register(lambda: probe.add(threads=self._threads))

    def partition(self, number: int, *, polled: bool = False) -> "Partition":
        """To be asked for once, where a partition is read.

        ``polled`` if its source is asked over and over.
        """
        found = Partition(self, number, polled)
        self._open.append(found)
        return found

    @property
    def is_over(self) -> bool:
        """Whether all partitions that are read here have ended."""
        return all(one.is_over for one in self._open)

    def is_read(self, number: int) -> None:
        """Says that a partition is being read."""
        # Waiting begins with the last of them: what came before was for connections.
        probe.reading()
        if os.path.isdir(_THREADS):
            self._threads = len(os.listdir(_THREADS))
        self._producer.sendall(b"READ %d\n" % number)

    def _answer(self) -> Tuple[str, str]:
        with self._producer.makefile("rb") as file:
            broker, name = file.readline().decode("ascii").split()
        return broker, name


class Partition:
    """What has been read of one partition."""

    __slots__ = ("_number", "_topic", "counters", "is_over")

    def __init__(self, topic: Topic, number: int, polled: bool) -> None:
        self._topic = topic
        self._number = number
        self.counters = probe.source(polled=polled)
        self.is_over = False

    def got(self, value: bytes) -> Optional[Item]:
        """The item that a message is; ``None`` for its beginning and its end."""
        ident, due_ns, digit = _MESSAGE.unpack(value)
        if ident >= 0:
            self.counters.items += 1
            self.counters.ident_sum += ident
            return ident, due_ns, digit
        if ident == _BEGIN:
            self._topic.is_read(self._number)
        else:
            self.is_over = True
            probe.end_of_input(due_ns)
        return None
