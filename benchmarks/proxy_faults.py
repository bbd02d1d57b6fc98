"""The proxy under 24 faults, one after the other: of what is behind it, and of its clients.

    .bench/venv/bin/python benchmarks/proxy_faults.py

For each fault, so many clients send one request after the other. Every vector that is answered must
be that of its text and options, every request answered, or refused in the service's own shape with
one of the statuses that the fault explains; afterwards nothing may wait any more. The proxy's
memory is flat: in the second half of a fault and after it, the most that it holds is at most a
tenth more than in the second quarter. Exit code 1 where something does not hold. Kept output:
docs/trials/proxy-faults.txt.
"""

import asyncio
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks import upstreams
from benchmarks.common import command_line
from benchmarks.faults import FAULTS, Fault
from benchmarks.upstreams import INFO, Upstream
from waitbench.execution import services
from waitbench.execution.servers import Server
from waitbench.model.scenario import Service, ServicePlan
from waitbench.system.places import Cache

ANSWERED_WITHIN_S = 30.0
AFTER_REFUSAL_S = 0.02
GROWTH = 1.1
"""So many times the memory of a fault's second quarter may be held in its second half."""
LOOKS = 80
"""At the memory, in each fault."""


@dataclass
class Seen:
    """What came of one fault."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Status codes; ``gone``: the client left."""
    wrong: list[str] = field(default_factory=list)
    """What must not be."""
    early_mib: float = 0.0
    """The most memory in the second quarter; the first is for warming up."""
    late_mib: float = 0.0
    """The most memory in the second half, and afterwards."""

    @property
    def holds(self) -> bool:
        return not self.wrong and self.late_mib <= GROWTH * self.early_mib

    def look(self, share: float, mib: float) -> None:
        """Takes note of the memory that is held when such a share of the time has passed."""
        if share >= 0.5:
            self.late_mib = max(self.late_mib, mib)
        elif share >= 0.25:
            self.early_mib = max(self.early_mib, mib)


async def try_fault(
    fault: Fault, server: Server, upstream: Upstream, clients: int, duration_s: float
) -> Seen:
    """Lets a fault happen for a while."""
    seen = Seen()
    loop = asyncio.get_running_loop()
    process = psutil.Process(server.pid)
    upstream.behave = fault.behave
    end = loop.time() + duration_s

    async def client(number: int) -> None:
        rng = random.Random(number)
        while loop.time() < end:
            try:
                await exchange_all(Client(*await connect(server.url)), rng)
            except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
                seen.wrong.append(f"no answer: {error!r}")
                await asyncio.sleep(AFTER_REFUSAL_S)

    async def exchange_all(connection: "Client", rng: random.Random) -> None:
        try:
            while loop.time() < end:
                request = fault.ask(rng)
                if request.sent_share is not None:
                    await connection.leave(request.body, request.sent_share, rng.random() * 0.2)
                    seen.statuses["gone"] += 1
                    return
                status, content = await asyncio.wait_for(
                    connection.exchange(request.body), ANSWERED_WITHIN_S
                )
                seen.statuses[str(status)] += 1
                problem = what_is_wrong(request.body, request.statuses, status, content)
                if problem:
                    seen.wrong.append(problem)
                if status != 200:
                    await asyncio.sleep(AFTER_REFUSAL_S)
        finally:
            connection.close()

    def look() -> None:
        seen.look(1 - (end - loop.time()) / duration_s, process.memory_info().rss / 2**20)

    for number in range(LOOKS):
        loop.call_at(end - number / LOOKS * duration_s, look)
    await asyncio.gather(*(client(number) for number in range(clients)))
    upstream.behave = upstreams.well
    await expect_rest(server.url, seen)
    look()
    return seen


def what_is_wrong(body: bytes, allowed: set[int], status: int, content: bytes) -> str | None:
    """Why an answer must not be, if so."""
    if status not in allowed:
        return f"status {status}: {content[:200]!r}"
    data = json.loads(content)
    if status != 200:
        return None if set(data) == {"error", "error_type"} else f"no reason: {content[:200]!r}"
    texts, options = upstreams.split(body)
    right = data == [upstreams.vector(text, options) for text in texts]
    return None if right else f"other vectors than those of {body[:100]!r}"


async def expect_rest(url: str, seen: Seen) -> None:
    """Waits until nothing waits in the proxy any more, and asks once more."""
    client = Client(*await connect(url))
    for _ in range(100):
        _, metrics = await client.exchange(b"", "GET /metrics")
        if b"\nproxy_queue_length 0.0" in metrics:
            break
        await asyncio.sleep(0.1)
    else:
        seen.wrong.append("something waits for ever")
    body = b'{"inputs": "afterwards"}'
    problem = what_is_wrong(body, {200}, *await client.exchange(body))
    if problem:
        seen.wrong.append(f"afterwards: {problem}")
    client.close()


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port)


class Client:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def exchange(self, body: bytes, what: str = "POST /embed") -> tuple[int, bytes]:
        self._writer.write(_head(body, what) + body)
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = head.partition("content-length:")[2].split("\r\n")[0]
        return int(head[9:12]), await self._reader.readexactly(int(length))

    async def leave(self, body: bytes, share: float, after_s: float) -> None:
        """Sends a share of a request, and goes away after a while."""
        self._writer.write(_head(body, "POST /embed") + body[: int(share * len(body))])
        await self._writer.drain()
        await asyncio.sleep(after_s)

    def close(self) -> None:
        self._writer.close()


def _head(body: bytes, what: str) -> bytes:
    return (
        f"{what} HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()


def run(
    python: Path,
    logs: Path,
    clients: int,
    duration_s: float,
    timeout_s: float,
    tell: Callable[[Fault, Seen], None],
) -> None:
    """Tries all faults on one proxy."""
    settings = {"UPSTREAM_TIMEOUT": f"{timeout_s}", "READ_TIMEOUT": f"{timeout_s}"}
    proxy = Service(name="proxy", settings=settings, upstream_variable="INFERENCE_SERVICE_URL")
    upstream = Upstream(inform=lambda call: call.answer(INFO), keep=False)
    # A connection that is cut off while it is written to is no news here.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with (
        upstreams.running(upstream),
        services.running(python, ServicePlan(services=(proxy,), url=upstream.url), logs) as up,
    ):
        for fault in FAULTS:
            done = try_fault(fault, up.servers[0], upstream, clients, duration_s)
            tell(fault, asyncio.run(done))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--duration", type=float, default=10, metavar="SECONDS")
    options = parser.parse_args()
    cache = Cache()
    failed = []

    def tell(fault: Fault, seen: Seen) -> None:
        statuses = ", ".join(f"{seen.statuses[name]:,} × {name}" for name in sorted(seen.statuses))
        print(
            f"{'holds' if seen.holds else 'FAILS'}  {fault.name}: {statuses}; "
            f"{seen.early_mib:.0f} MiB, then {seen.late_mib:.0f}",
            flush=True,
        )
        for what, count in Counter(seen.wrong).most_common(3):
            print(f"       {count} × {what}", flush=True)
        if not seen.holds:
            failed.append(fault)

    python = services.make_environment(cache, print)
    print(f"{options.clients} clients, {options.duration:g} s each", flush=True)
    run(python, cache.folder("logs"), options.clients, options.duration, 2.0, tell)
    print(f"{len(FAULTS) - len(failed)} of {len(FAULTS)} hold")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
