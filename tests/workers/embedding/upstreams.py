"""A service with the interface of an embedding service, that can be told to misbehave.

Its vectors are a function of text and options, so that anybody can tell whether an answer is right.
"""

import asyncio
import json
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

INFO = {"max_client_batch_size": 32}
Text = str | list[int]
"""Or the ids of its tokens."""


def vector(text: Text, options: Mapping[str, Any]) -> list[float]:
    """The vector of a text, asked for with these options."""
    text = text if isinstance(text, str) else json.dumps(text)
    wanted = json.dumps(options, sort_keys=True)
    return [float(zlib.crc32(part.encode())) for part in (text, wanted, text + wanted)]


def split(body: bytes) -> tuple[list[Text], dict[str, Any]]:
    """The texts and the options of a request."""
    options = json.loads(body)
    texts = options.pop("inputs")
    is_one = isinstance(texts, str) or isinstance(texts[0], int)
    return [texts] if is_one else texts, options


@dataclass
class Call:
    """One request that the service got, and the ways to answer it."""

    on_connection: int
    """From 0, of those of the same connection."""
    body: bytes
    writer: asyncio.StreamWriter

    @property
    def vectors(self) -> list[list[float]]:
        texts, options = split(self.body)
        return [vector(text, options) for text in texts]

    async def answer(self, found: object = None, status: int = 200, **headers: str) -> None:
        """Answers rightly, or something else: bytes, or data that become JSON."""
        content = self.vectors if found is None else found
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        lines = [
            f"HTTP/1.1 {status} Status",
            "Content-Type: application/json",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
            f"Content-Length: {len(data)}",
        ]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await self.writer.drain()

    def close(self) -> None:
        self.writer.close()


Behaviour = Callable[[Call], Awaitable[None]]


async def well(call: Call) -> None:
    """Answers rightly, at once."""
    await call.answer()


async def hang(_call: Call) -> None:
    """Never answers."""
    await asyncio.sleep(600)


async def hang_up(call: Call) -> None:
    """Closes the connection."""
    call.close()


def limited(most_bytes: int) -> Behaviour:
    """Refuses larger bodies."""

    async def behave(call: Call) -> None:
        is_larger = len(call.body) > most_bytes
        await (call.answer(b"length limit exceeded", 413) if is_larger else call.answer())

    return behave


@dataclass
class Upstream:
    """A service that is up: behaviours may be exchanged, and all it is asked can be read."""

    behave: Behaviour = well
    inform: Behaviour = field(default=lambda call: call.answer(INFO))
    """What is done to requests for ``/info``."""
    bodies: list[bytes] = field(default_factory=list)
    asked: int = 0
    together: int = 0
    most_together: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reset(self) -> None:
        """Behaves well again, and forgets what it was asked."""
        self.behave, self.asked, self.bodies = well, 0, []

    @property
    def texts(self) -> list[Text]:
        """All that were asked for."""
        return [text for body in self.bodies for text in split(body)[0]]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        on_connection = 0
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = head.partition("content-length:")[2].split("\r\n")[0]
                body = await reader.readexactly(int(length or 0))
                call = Call(on_connection, body, writer)
                if head.startswith("get "):
                    await self.inform(call)
                    continue
                on_connection += 1
                self.asked += 1
                self.bodies.append(body)
                self.together += 1
                self.most_together = max(self.most_together, self.together)
                try:
                    await self.behave(call)
                finally:
                    self.together -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@contextmanager
def running(upstream: Upstream) -> Iterator[Upstream]:
    """The service in a thread of its own, on a free port."""
    loop = asyncio.new_event_loop()

    async def start() -> None:
        server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, limit=1 << 22)
        upstream.port = server.sockets[0].getsockname()[1]

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
