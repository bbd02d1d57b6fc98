"""What can be wrong with an embedding service, and with those who ask it."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.upstreams import Behaviour, Call, Text, split, well


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request of a client."""

    body: bytes
    statuses: set[int]
    """What may be answered."""
    sent_share: float | None = None
    """The client sends only so much of the body, and leaves."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What the service does, and what its clients do."""

    name: str
    behave: Behaviour = well
    ask: Callable[[random.Random], Asked]


def asks(*statuses: int, **options: Any) -> Callable[[random.Random], Asked]:
    """A client that asks for one to three texts of its own, and may be answered so.

    A text is one in five times given as the ids of its tokens.
    """

    def ask(rng: random.Random) -> Asked:
        texts: list[Text] = [
            f"{rng.random()}" if rng.random() < 0.8 else [rng.randrange(2**32), rng.randrange(9)]
            for _ in range(rng.randint(1, 3))
        ]
        return Asked(body=_body(texts, **options), statuses={200, *statuses})

    return ask


def _body(texts: list[Text], **options: Any) -> bytes:
    return json.dumps({"inputs": texts, **options}).encode()


def _each(every: int, bad: Behaviour) -> Behaviour:
    """Does ``bad`` to one call in so many."""

    async def behave(call: Call) -> None:
        await (bad if call.number % every == 0 else well)(call)

    return behave


def _answers(found: object, status: int = 200, **headers: str) -> Behaviour:
    def behave(call: Call) -> Awaitable[None]:
        return call.answer(found, status, **headers)

    return behave


async def _slowly(call: Call) -> None:
    await asyncio.sleep(0.1)
    await call.answer()


async def _unevenly(call: Call) -> None:
    await asyncio.sleep(random.Random(call.number).random() * 0.3)
    await call.answer()


async def _never(_call: Call) -> None:
    await asyncio.sleep(3600)


async def _closes(call: Call) -> None:
    call.close()


async def _once(call: Call) -> None:
    await (call.answer() if call.on_connection == 0 else _closes(call))


async def _half(call: Call) -> None:
    call.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[[1.0, 2.0")
    call.close()


async def _half_and_waits(call: Call) -> None:
    call.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[[1.0, 2.0")
    await _never(call)


async def _other_protocol(call: Call) -> None:
    call.writer.write(bytes(range(256)) * 10)
    call.close()


async def _endless(call: Call) -> None:
    call.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        call.writer.write(b"10000\r\n" + b"7" * 0x10000 + b"\r\n")
        await call.writer.drain()


def _changed(change: Callable[[list[list[float]]], object]) -> Behaviour:
    async def behave(call: Call) -> None:
        await call.answer(change(call.vectors))

    return behave


async def _refuses_bad_texts(call: Call) -> None:
    if any(str(text).startswith("bad") for text in split(call.body)[0]):
        await call.answer({"error": "a bad text", "error_type": "Validation"}, 413)
    else:
        await call.answer()


async def _takes_few(call: Call) -> None:
    if len(split(call.body)[0]) > 5:
        await call.answer(b"too many", 422)
    else:
        await call.answer()


async def _takes_two_megabytes(call: Call) -> None:
    if len(call.body) > 2_000_000:
        await call.answer(b"length limit exceeded", 413)
    else:
        await call.answer()


def _ask_with_bad_texts(rng: random.Random) -> Asked:
    if rng.random() < 0.05:
        return Asked(body=_body([f"bad {rng.random()}"]), statuses={413})
    return asks()(rng)


def _ask_with_options(rng: random.Random) -> Asked:
    options: dict[str, Any] = {
        "normalize": rng.random() < 0.5,
        "truncate": rng.choice([None, True, False]),
        "prompt_name": rng.choice(["query", "passage"]),
        "dimensions": rng.randint(1, 1000),
        "unknown": rng.random() < 0.5,
    }
    chosen = rng.sample(sorted(options), rng.randint(0, len(options)))
    return asks(**{name: options[name] for name in chosen})(rng)


def _ask_nonsense(rng: random.Random) -> Asked:
    nonsense = [b"", b"{", b'{"inputs": 7}', b'{"inputs": []}', b'{"inputs": ["a", ""]}', b"\xff"]
    if rng.random() < 0.5:
        return Asked(body=rng.choice(nonsense), statuses={400, 422})
    return asks()(rng)


def _ask_much(rng: random.Random) -> Asked:
    text = f"{rng.random()}" + "x" * rng.randint(100_000, 400_000)
    return Asked(body=_body([text]), statuses={200})


def _ask_and_leave(share: float) -> Callable[[random.Random], Asked]:
    def ask(rng: random.Random) -> Asked:
        asked = asks(429)(rng)
        if rng.random() < 0.5:
            return Asked(body=asked.body, statuses=set(), sent_share=share)
        return asked

    return ask


FAULTS = (
    Fault(name="none", ask=asks()),
    Fault(name="slow: 0.1 s a call", behave=_slowly, ask=asks(429)),
    Fault(name="slow: 0 to 0.3 s a call", behave=_unevenly, ask=asks(429)),
    Fault(name="one call in ten is never answered", behave=_each(10, _never), ask=asks(429, 503)),
    Fault(name="no call is ever answered", behave=_never, ask=asks(429, 503)),
    Fault(name="closes each connection at its second call", behave=_once, ask=asks()),
    Fault(name="closes one call in five", behave=_each(5, _closes), ask=asks(503)),
    Fault(name="closes every call", behave=_closes, ask=asks(503)),
    Fault(name="half an answer, one in five", behave=_each(5, _half), ask=asks(503)),
    Fault(name="half an answer, then silence", behave=_half_and_waits, ask=asks(429, 503)),
    Fault(name="an answer that is not HTTP", behave=_other_protocol, ask=asks(424, 503)),
    Fault(name="an answer that is not JSON", behave=_answers(b"[[1.0, 2"), ask=asks(424)),
    Fault(name="an answer without end", behave=_endless, ask=asks(424, 429, 503)),
    Fault(name="a vector too few", behave=_changed(lambda found: found[1:]), ask=asks(424)),
    Fault(name="null for a vector", behave=_changed(lambda v: [None, *v[1:]]), ask=asks(424)),
    Fault(
        name="4xx: one text in twenty is bad", behave=_refuses_bad_texts, ask=_ask_with_bad_texts
    ),
    Fault(name="4xx: few at once, contrary to /info", behave=_takes_few, ask=asks()),
    Fault(
        name="429, every other call",
        behave=_each(2, _answers(b"later", 429, Retry_After="1")),
        ask=asks(429),
    ),
    Fault(name="500, every other call", behave=_each(2, _answers(b"boom", 500)), ask=asks(424)),
    Fault(name="clients ask with unequal options", ask=_ask_with_options),
    Fault(name="clients send nonsense", ask=_ask_nonsense),
    Fault(name="clients send 100 to 400 KB", behave=_takes_two_megabytes, ask=_ask_much),
    Fault(name="clients leave, slow", behave=_slowly, ask=_ask_and_leave(1.0)),
    Fault(name="clients leave half-way", ask=_ask_and_leave(0.5)),
)
