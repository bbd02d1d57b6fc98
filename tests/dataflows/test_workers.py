"""What workers have for themselves, and what they count: a connection."""

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support import probe
from support.per_worker import PerWorker

Load = Callable[[str], Any]


@pytest.fixture(autouse=True)
def fresh_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that has seen nothing."""
    for name in ("_sources", "_sinks", "_samples", "_opened"):
        monkeypatch.setattr(probe, name, [])
    monkeypatch.setattr(probe, "_totals", {})


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What is to be done at the end of the process."""
    registered: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", registered.append)
    return registered


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """As workers do: all threads are there until the last is done."""
    together = threading.Barrier(count)

    def run(number: int) -> None:
        together.wait(20)
        work(number)
        together.wait(20)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_each_thread_opens_once_and_each_opening_is_counted() -> None:
    workers: PerWorker[object] = PerWorker(object)
    had: list[set[object]] = [set() for _ in range(8)]

    def work(number: int) -> None:
        for _ in range(50):
            had[number].add(workers.own())

    in_threads(8, work)
    assert all(len(one) == 1 for one in had)
    assert len(set.union(*had)) == 8
    assert probe.report()["opened"] == 8


class Service(BaseHTTPRequestHandler):
    """Embeds nothing, and counts who connects."""

    protocol_version = "HTTP/1.1"
    connected = 0
    keeps_alive = True

    def setup(self) -> None:
        type(self).connected += 1
        super().setup()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "10")
        if not self.keeps_alive:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"[[1], [2]]")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(params=[True, False], ids=["keeps alive", "closes"])
def service(request: pytest.FixtureRequest) -> Iterator[tuple[type[Service], str]]:
    handler = type("Counting", (Service,), {"connected": 0, "keeps_alive": request.param})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_each_connection_to_a_service_is_counted(
    load_workload: Load, service: tuple[type[Service], str]
) -> None:
    handler, url = service
    step = load_workload("embedding").Embedding(url, 2, 1)

    def work(worker: int) -> None:
        for number in range(5):
            step((5 * worker + number, 0, 0))

    in_threads(3, work)
    assert handler.connected == probe.report()["opened"] == (3 if handler.keeps_alive else 15)


def test_a_requests_cpu_is_the_workers_from_the_end_of_the_one_before(
    load_workload: Load, service: tuple[type[Service], str]
) -> None:
    step = load_workload("embedding").Embedding(service[1], 2, 1)
    begun_s = time.thread_time()
    for number in range(3):
        step((number, 0, 0))
        until_used(0.02)
    used_s = time.thread_time() - begun_s
    samples = probe.report()["samples"]
    assert ["cpu_s" in sample for sample in samples] == [False, True, True]
    assert all(sample["cpu_s"] >= 0.02 for sample in samples[1:])
    assert sum(sample["cpu_s"] for sample in samples[1:]) < used_s


def until_used(seconds: float) -> None:
    """Returns when this thread has used so much CPU."""
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass
