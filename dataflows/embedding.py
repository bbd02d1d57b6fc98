"""Family ``embedding``: a worker that has an embedding service turn texts into vectors, one request at a time."""

import http.client
import json
import os
import random
import sys
import threading
import time
import urllib.parse

from support import api, items, probe

URL_VARIABLE = "BENCH_SERVICE_URL"
MAX_WORKERS = 16
_TIMEOUT_S = 60.0
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt"), encoding="utf-8") as _file:
    _WORDS = _file.read().split()


def get_flow(
    route="direct",
    mode="adaptive",
    max_batch_size=8,
    max_wait_time=1000,
    call_cost_ms=0.0,
    items_per_worker=24,
    inputs_per_item=2,
    seed=1,
):
    """A dataflow in which each of the first 16 workers reads ``items_per_worker`` items of ``inputs_per_item`` texts.

    Where the service is, the environment variable ``BENCH_SERVICE_URL`` says; the harness starts it by the first five
    parameters, which describe it. By hand: any text-embeddings-inference.
    """
    url = os.environ.get(URL_VARIABLE)
    if not url:
        raise ValueError("set %s to an embedding service, such as http://127.0.0.1:8080" % URL_VARIABLE)

    def build_reader(worker_index, _worker_count):
        count = items_per_worker if worker_index < MAX_WORKERS else 0
        return items.Reader(worker_index * items_per_worker, count, items.Schedule(), seed)

    return api.build_dataflow(
        "embedding",
        api.dynamic_source(build_reader),
        [("embed", Embedding(url, inputs_per_item, seed))],
        api.sink(VectorsWriter),
    )


class Embedding:
    """The step: an item becomes ``(ident, due_ns, number of vectors, time taken)``. Each worker has a connection of its own."""

    def __init__(self, url, inputs_per_item, seed):
        self._host = urllib.parse.urlsplit(url).netloc
        self._inputs_per_item = inputs_per_item
        self._seed = seed
        self._own = threading.local()

    def __call__(self, item):
        ident, due_ns, _ = item
        rng = random.Random(self._seed * 1_000_003 + ident)
        texts = [" ".join(rng.choices(_WORDS, k=8)) for _ in range(self._inputs_per_item)]
        body = json.dumps({"inputs": texts})
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_S)
        begun = time.perf_counter()
        connection.request("POST", "/embed", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        taken_s = time.perf_counter() - begun
        if response.status != 200:
            raise RuntimeError("the service answered %d: %s" % (response.status, content[:200].decode("utf-8", "replace")))
        vectors = json.loads(content)
        if len(vectors) != len(texts):
            raise RuntimeError("the service answered %d vectors for %d texts" % (len(vectors), len(texts)))
        probe.sample(taken_s=taken_s, inputs=len(texts))
        return ident, due_ns, len(vectors), taken_s


class VectorsWriter:
    """One line a request to stdout: which item, how many vectors, in which time."""

    def __init__(self):
        self._probe = probe.sink()

    def write(self, embedded):
        ident, due_ns, vectors, taken_s = embedded
        sys.stdout.write("%d %d %.6f\n" % (ident, vectors, taken_s))
        self._probe.got(ident, due_ns)
