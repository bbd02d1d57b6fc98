"""Family ``embedding``: a worker that has a service embed texts, one request at a time."""

import http.client
import json
import os
import random
import sys
import time
import urllib.parse
from typing import Any, Dict, Optional, Tuple

from support import api, items, probe
from support.per_worker import PerWorker

URL_VARIABLE = "BENCH_SERVICE_URL"
"""Environment variable that says where the service is."""
_TIMEOUT_S = 60.0
with open(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt"), encoding="utf-8"
) as _file:
    _WORDS = _file.read().split()

Embedded = Tuple[int, int, int, float]
"""``(ident, due_ns, number of vectors, seconds taken)``."""


def get_flow(
    route: str = "direct",
    mode: str = "adaptive",
    max_batch_size: int = 8,
    max_wait_time: int = 1000,
    call_cost_ms: float = 0.0,
    items_per_worker: int = 24,
    inputs_per_item: int = 2,
    seed: int = 1,
) -> Any:
    """A dataflow in which each of the first 16 workers has ``items_per_worker`` items embedded.

    An item is ``inputs_per_item`` texts. The environment variable ``BENCH_SERVICE_URL`` says where
    the service is; the harness starts it by the first five parameters, which describe it. By hand,
    any text-embeddings-inference will do.
    """
    url = os.environ.get(URL_VARIABLE)
    if not url:
        raise ValueError(
            "set %s to an embedding service, such as http://127.0.0.1:8080" % URL_VARIABLE
        )
    build_reader = items.reader_of_each_worker(items_per_worker, items.Schedule(), seed)
    return api.build_dataflow(
        "embedding",
        api.dynamic_source(build_reader),
        [("embed", Embedding(url, inputs_per_item, seed))],
        api.sink(VectorsWriter),
    )


class Embedding:
    """The step: an item becomes what came of its request. Each worker has its own connection.

    What a request costs its worker is CPU time from the end of the one before it: with what the
    engine does between them, and without what happens once, such as connecting. So there is none
    for the first.
    """

    def __init__(self, url: str, inputs_per_item: int, seed: int) -> None:
        self._host = urllib.parse.urlsplit(url).netloc
        self._inputs_per_item = inputs_per_item
        self._seed = seed
        self._clients = PerWorker(lambda: _Client(self._host))

    def __call__(self, item: items.Item) -> Embedded:
        ident, due_ns, _ = item
        rng = random.Random(self._seed * 1_000_003 + ident)
        texts = [" ".join(rng.choices(_WORDS, k=8)) for _ in range(self._inputs_per_item)]
        body = json.dumps({"inputs": texts})
        client = self._clients.own()
        status, content, taken_s = client.ask(body)
        if status != 200:
            raise RuntimeError(
                "the service answered %d: %s" % (status, content[:200].decode("utf-8", "replace"))
            )
        vectors = json.loads(content)
        if len(vectors) != len(texts):
            raise RuntimeError(
                "the service answered %d vectors for %d texts" % (len(vectors), len(texts))
            )
        probe.sample(taken_s=taken_s, inputs=len(texts), **client.cpu())
        return ident, due_ns, len(vectors), taken_s


class _Client:
    """What a worker has: a connection, and the CPU time of its thread so far."""

    def __init__(self, host: str) -> None:
        self._connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_S)
        self._connection.connect()  # Now: no request pays for that.
        self._used_s: Optional[float] = None

    def ask(self, body: str) -> Tuple[int, bytes, float]:
        """The status and content of an answer, and the seconds that it took."""
        connection = self._connection
        if connection.sock is None:  # the service has closed it after its last answer
            probe.opened()
            connection.connect()
        begun = time.perf_counter()
        connection.request("POST", "/embed", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        return response.status, content, time.perf_counter() - begun

    def cpu(self) -> Dict[str, float]:
        """``cpu_s``: what the thread has used since this was last asked; nothing at first."""
        before_s, self._used_s = self._used_s, time.thread_time()
        return {} if before_s is None else {"cpu_s": self._used_s - before_s}


class VectorsWriter:
    """Writes one line a request to stdout: which item, how many vectors, in which time."""

    def __init__(self) -> None:
        self._probe = probe.sink()

    def write(self, embedded: Embedded) -> None:
        ident, due_ns, vectors, taken_s = embedded
        sys.stdout.write("%d %d %.6f\n" % (ident, vectors, taken_s))
        self._probe.got(ident, due_ns)
