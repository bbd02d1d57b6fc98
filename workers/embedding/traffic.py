"""What clients ask of an embedding service, what they saw, and the requests beside the load."""

import json
import math
import random
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

KINDS = 256
"""Different requests; each client sends one after the other."""
_TOLERANCE = 1e-4
"""By so much the vectors of a text may differ with what it is batched with: rounding."""
_MOST_WORDS = 200
_CALLS_COUNTER = "proxy_upstream_seconds_count"
_WORDS_FILE = Path(__file__).with_name("words.txt")


class ServiceError(Exception):
    """A service does not answer as one that embeds."""


@dataclass(frozen=True)
class Questions:
    """What clients ask, and what is right.

    Each kind of request has texts of its own: with equal texts nobody would notice vectors that
    were handed to the wrong client.
    """

    texts: Sequence[Sequence[str]]
    """The texts of each kind of request."""
    expected: Sequence[Sequence[Sequence[float]]]
    """The vectors of each kind's texts."""

    def is_answered_by(self, content: bytes, kind: int) -> bool:
        """Whether the body of an answer holds the vectors of a kind's texts."""
        try:
            vectors = json.loads(content)
            return all(
                math.isclose(a, b, abs_tol=_TOLERANCE)
                for vector, right in zip(vectors, self.expected[kind], strict=True)
                for a, b in zip(vector, right, strict=True)
            )
        except (ValueError, TypeError):
            # Not JSON, or of another shape.
            return False


@dataclass
class Load:
    """What came of a load. Grows while it lasts; times in seconds."""

    duration_s: float
    """Without what was waited for after its end."""
    latencies_s: list[float] = field(default_factory=list)
    """The times of answers with status 200, in no order."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Status codes, and names of errors of the connection."""
    last_words: dict[str, str] = field(default_factory=dict)
    """What came last of each of these but 200: the beginning of the body, or of the error."""
    body_bytes: int = 0
    """In the bodies of these answers."""
    drain_s: float = 0.0
    """How long answers were waited for after the end."""
    late: int = 0
    """Answers with status 200 that came only then."""
    late_bytes: int = 0
    """In the bodies of these."""
    checked: int = 0
    wrong: int = 0
    """How many of the checked answers had other vectors than the texts'."""

    @property
    def answered(self) -> int:
        return self.statuses["200"]

    @property
    def success_rate(self) -> float:
        total = self.statuses.total()
        return self.answered / total if total else 0.0

    @property
    def requests_per_s(self) -> float:
        """Those that were answered before the end."""
        return (self.answered - self.late) / self.duration_s

    def count_answer(self, taken_s: float, size: int, *, is_late: bool) -> None:
        """Counts a request that was answered with 200, by a body of so many bytes."""
        self.statuses["200"] += 1
        self.latencies_s.append(taken_s)
        self.body_bytes += size
        if is_late:
            self.late += 1
            self.late_bytes += size

    def count_failure(self, status: str, words: str) -> None:
        """Counts a request that was not answered with 200."""
        self.statuses[status] += 1
        if words:
            self.last_words[status] = " ".join(words.split())[:_MOST_WORDS]


def failures(statuses: Mapping[str, int], last_words: Mapping[str, str]) -> str:
    """What came instead of answers, how often, and its last words; empty where nothing did."""
    return "; ".join(
        f"{count} × {status}" + (f": {last_words[status]}" if status in last_words else "")
        for status, count in statuses.items()
        if status != "200" and count
    )


def make_questions(reference_url: str, inputs: int, seed: int = 1) -> Questions:
    """Random texts, ``inputs`` a request, and what the service at ``reference_url`` says of them.

    Raises ``ServiceError`` where it does not answer.
    """
    rng = random.Random(seed)
    words = _WORDS_FILE.read_text("utf-8").split()
    texts = [
        [" ".join(rng.choices(words, k=rng.randint(2, 12))) for _ in range(inputs)]
        for _ in range(KINDS)
    ]
    limit = describe(reference_url).get("max_client_batch_size")
    together = max(1, limit // inputs) if isinstance(limit, int) else 1
    expected: list[list[list[float]]] = []
    for start in range(0, KINDS, together):
        asked = texts[start : start + together]
        vectors = iter(embed(reference_url, [text for kind in asked for text in kind]))
        expected += [list(islice(vectors, inputs)) for _ in asked]
    return Questions(texts, expected)


def describe(url: str) -> Mapping[str, object]:
    """Asks a service what it says of itself at ``/info``.

    Raises ``ServiceError`` where no such service answers.
    """
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/info", timeout=10) as response:
            found: Mapping[str, object] = dict(json.load(response))
            return found
    except (OSError, ValueError, TypeError) as error:
        raise ServiceError(
            f"{url}/info does not answer as an embedding service does: {error}."
        ) from error


def embed(url: str, texts: Sequence[str]) -> list[list[float]]:
    """The vectors of texts, in order. Raises ``ServiceError``."""
    body = json.dumps({"inputs": list(texts)}).encode()
    request = urllib.request.Request(f"{url}/embed", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            vectors: list[list[float]] = json.load(response)
            return vectors
    except (OSError, ValueError) as error:
        raise ServiceError(f"{url} does not embed: {error}.") from error


def upstream_calls(url: str) -> int:
    """The number of calls that a proxy has made so far, from its ``/metrics``."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as response:
        lines = response.read().decode().splitlines()
    (count,) = (line.split()[1] for line in lines if line.startswith(_CALLS_COUNTER))
    return int(float(count))
