"""A load of requests on an embedding service: by oha where it is installed, else by a small client of ours.

Ours sends from a number of connections, each its next request as soon as the last is answered, for a time; requests under
way at the end are waited for and count. Each request has texts of its own kind, so that a sample of the answers can be
held against what the model says of these texts: with equal texts nobody would notice vectors that were handed to the wrong client.
"""

import asyncio
import json
import math
import random
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from waitbench.execution import services
from waitbench.families.embedding.connection import Connection
from waitbench.model.errors import HarnessError
from waitbench.system.places import DATAFLOWS

CHECKED_SHARE = 50
"""One answer in so many is checked."""
_KINDS = 256
_TOLERANCE = 1e-4
"""Vectors of a text differ by rounding with what it is batched with."""
_OVERTIME_S = 30.0
_WARM_UP_CONNECTIONS = 8
"""A full batch of the fixed rule: one alone would wait a second for each answer."""
_WARM_UP_S = 1.0
_WORDS_FILE = DATAFLOWS / "words.txt"
"""The worker's texts are made of these, too."""


@dataclass
class Load:
    """What came of a load. Times in seconds."""

    client: str
    duration_s: float
    latencies_s: list[float] = field(default_factory=list)
    """Of answers with status 200, in no order. oha gives percentiles only, so there it is empty."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Status codes, and names of errors of the connection."""
    checked: int = 0
    wrong: int = 0
    """Of the checked answers, those whose vectors are not the texts'."""
    percentiles_s: Mapping[str, float] = field(default_factory=dict)
    """``min``, ``mean``, ``50%``, ``90%``, ``99%``, ``max``."""

    @property
    def answered(self) -> int:
        return self.statuses["200"]

    @property
    def success_rate(self) -> float:
        total = sum(self.statuses.values())
        return self.answered / total if total else 0.0

    @property
    def requests_per_s(self) -> float:
        return self.answered / self.duration_s


@dataclass(frozen=True)
class Questions:
    """What clients ask, and what is right."""

    texts: Sequence[Sequence[str]]
    """Of each kind of request."""
    expected: Sequence[list[list[float]]]
    """Vectors of each kind's texts."""


def prepare(url: str, reference_url: str, *, inputs: int = 2, seed: int = 1) -> Questions:
    """Asks ``reference_url`` what is right, and warms up the way to ``url``. Raises ``HarnessError`` if either does not answer."""
    rng = random.Random(seed)
    words = _WORDS_FILE.read_text().split()
    texts = [[" ".join(rng.choices(words, k=rng.randint(2, 12))) for _ in range(inputs)] for _ in range(_KINDS)]
    limit = services.describe(reference_url).get("max_client_batch_size")
    together = max(1, limit // inputs) if isinstance(limit, int) else 1
    expected = []
    for start in range(0, _KINDS, together):
        vectors = iter(_ask(reference_url, [text for kind in texts[start : start + together] for text in kind]))
        expected += [list(islice(vectors, inputs)) for _ in texts[start : start + together]]
    questions = Questions(texts, expected)
    warmed = run_ours(url, questions, _WARM_UP_CONNECTIONS, _WARM_UP_S)
    if not warmed.answered:
        raise HarnessError(f"{url} does not embed: {dict(warmed.statuses)}.")
    return questions


def run(url: str, questions: Questions, *, connections: int, duration_s: float) -> Load:
    """Puts a load on ``url``. Raises ``HarnessError`` if oha is there and fails."""
    put = run_oha if shutil.which("oha") else run_ours
    return put(url, questions, connections, duration_s)


def _ask(url: str, texts: Sequence[str]) -> list[list[float]]:
    body = json.dumps({"inputs": list(texts)}).encode()
    request = urllib.request.Request(f"{url}/embed", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            vectors: list[list[float]] = json.load(response)
            return vectors
    except OSError as error:
        raise HarnessError(f"{url} does not embed: {error}.") from error


def run_ours(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """Our client's load: each connection sends its next request when it has the answer."""
    return asyncio.run(_run_ours(url, questions, connections, duration_s))


async def _run_ours(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    parts = urllib.parse.urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    requests = []
    for pair in questions.texts:
        body = json.dumps({"inputs": list(pair)})
        head = f"POST /embed HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        requests.append((head + body).encode())
    load = Load("asyncio", duration_s)
    begun = time.perf_counter()
    end = begun + duration_s

    async def client(number: int) -> None:
        loop = asyncio.get_running_loop()
        kind = number
        while time.perf_counter() < end:
            try:
                _, connection = await loop.create_connection(Connection, host, port)
            except OSError as error:
                load.statuses[type(error).__name__] += 1
                await asyncio.sleep(0.1)
                continue
            try:
                while time.perf_counter() < end:
                    kind += 1
                    sent = time.perf_counter()
                    status, content = await connection.exchange(requests[kind % _KINDS])
                    load.statuses[status] += 1
                    if status != "200":
                        await asyncio.sleep(0.05)
                        continue
                    load.latencies_s.append(time.perf_counter() - sent)
                    if load.answered % CHECKED_SHARE == 0:
                        load.checked += 1
                        load.wrong += not _are_equal(json.loads(content), questions.expected[kind % _KINDS])
            except (ConnectionError, asyncio.TimeoutError) as error:
                load.statuses[type(error).__name__] += 1
            finally:
                connection.close()

    clients = [asyncio.create_task(client(number)) for number in range(connections)]
    done, late = await asyncio.wait(clients, timeout=duration_s + _OVERTIME_S)
    for task in late:
        task.cancel()
        load.statuses["never answered"] += 1
    for task in done:
        task.result()
    load.duration_s = time.perf_counter() - begun
    load.percentiles_s = _percentiles(load.latencies_s)
    return load


def _are_equal(vectors: object, expected: list[list[float]]) -> bool:
    if not isinstance(vectors, list) or [len(v) for v in vectors] != [len(e) for e in expected]:
        return False
    return all(
        math.isclose(a, b, abs_tol=_TOLERANCE)
        for vector, right in zip(vectors, expected, strict=True)
        for a, b in zip(vector, right, strict=True)
    )


def _percentiles(latencies_s: Sequence[float]) -> Mapping[str, float]:
    ordered = sorted(latencies_s)
    if not ordered:
        return {}

    def at(q: float) -> float:
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))]

    return {
        "min": ordered[0], "mean": math.fsum(ordered) / len(ordered), "50%": at(0.5), "90%": at(0.9), "99%": at(0.99),
        "max": ordered[-1],
    }  # fmt: skip


def run_oha(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """The published command. All its requests have the same texts, so nothing can be checked."""
    command = [
        "oha", "--no-tui", "--output-format", "json", "-c", str(connections), "-z", f"{duration_s:g}s", "--latency-correction",
        "-m", "POST", "-d", json.dumps({"inputs": list(questions.texts[0])}), "-H", "Content-Type: application/json", f"{url}/embed",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=duration_s + 60)
    if done.returncode != 0:
        raise HarnessError(f"oha failed: {done.stderr.strip()[:300]}")
    try:
        return parse_oha(done.stdout)
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"oha's output is not understood ({error!r}); is it older than 1.5?") from error


def parse_oha(text: str) -> Load:
    """oha's JSON output, as of 1.5 and later. Raises ``ValueError`` or ``KeyError``."""
    data = json.loads(text)
    summary, percentiles = data["summary"], data["latencyPercentiles"]
    load = Load("oha", float(summary["total"]))
    load.statuses.update({str(code): int(count) for code, count in data["statusCodeDistribution"].items()})
    errors = {str(name): int(count) for name, count in data["errorDistribution"].items()}
    # What was under way when the time was over; oha does not count these as failures either.
    errors.pop("aborted due to deadline", None)
    load.statuses.update(errors)
    figures = {
        "min": summary["fastest"], "mean": summary["average"], "50%": percentiles["p50"], "90%": percentiles["p90"],
        "99%": percentiles["p99"], "max": summary["slowest"],
    }  # fmt: skip
    # Null where nothing was answered.
    load.percentiles_s = {name: float(value) for name, value in figures.items() if value is not None}
    return load
