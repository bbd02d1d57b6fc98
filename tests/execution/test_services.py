"""Services of a run: started in order, watched, counted, ended."""

import ctypes
import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import psutil
import pytest

from tests.execution.launches import WITHOUT_COUNTERS
from tests.running import processes_with
from tests.waiting import until
from waitbench.engines.base import Service
from waitbench.execution import services
from waitbench.execution.service_launch import START, STOP, request
from waitbench.execution.services import Running, running
from waitbench.model.conditions import Elapsed, LogLine, Port, Readiness, Success, Words
from waitbench.model.errors import HarnessError
from waitbench.model.launch import Site
from waitbench.model.worker import ServiceTable
from waitbench.system import proc, tcp, variables
from waitbench.system.paths import Cache

ECHO = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(dict(os.environ)).encode())

print("about to serve", file=sys.stderr, flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""A service that answers everything with its environment."""


def service(name: str, program: str = ECHO) -> Service:
    return serving(name, (sys.executable, "-c", program, "{port}", f"as {name}"))


def serving(
    name: str,
    words: Sequence[str],
    ready: Readiness = Port(value=True),  # noqa: B008
) -> Service:
    table = ServiceTable(command=Words(words), ready=ready)
    return Service(name=name, table=table, site=Site(), values={})


def up(folder: Path, *names: str) -> AbstractContextManager[Running]:
    return running([service(name) for name in names], folder, Cache(folder / "cache"))


def environment_of(port: int) -> Mapping[str, str]:
    opener = build_opener(ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}", timeout=30) as response:
        environment: Mapping[str, str] = json.load(response)
        return environment


def test_services_are_up_in_their_order_with_nothing_of_the_callers_shell_until_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_the_user = "http://127.0.0.1:9"
    for name in ("SECRET_TOKEN", "LOG_LEVEL", "PYTHONDONTWRITEBYTECODE", "http_proxy"):
        monkeypatch.setenv(name, of_the_user)
    with (
        pytest.raises(ZeroDivisionError),
        variables.only_listed(),
        up(tmp_path, "first", "second") as up_services,
    ):
        assert [server.service.name for server in up_services.servers] == ["first", "second"]
        assert len({server.config.port for server in up_services.servers}) == 2
        for name, server in zip(("first", "second"), up_services.servers, strict=True):
            assert server.config.folder == str(tmp_path / f"service-{name}")
            assert server.config.memory > 2**20, "that of a Python"
            environment = environment_of(server.config.port)
            assert of_the_user not in environment.values()
        assert up_services.cpu_s() > 0, "each has started a Python"
        processes = [
            process
            for server in up_services.servers
            for process in psutil.Process(server.process.pid).children()
        ]
        assert len(processes) == 2
        raise ZeroDivisionError
    assert not any(process.is_running() for process in processes)


ENDED = "The service broken ended with exit code 1 before it was ready"
SLOW = "The service broken was not ready within 0.3 s"
FLOOD = "import time; print('x' * 2**25); time.sleep(600)"
WAITS = ("sh", "-c", "echo not yet Ready; exec sleep 60")


@pytest.mark.parametrize(
    ("words", "ready", "expected"),
    [
        (
            (sys.executable, "-c", "raise SystemExit('no model')"),
            Port(value=True),
            rf"{ENDED}\. It printed: no model\nIts log: ",
        ),
        (
            (sys.executable, "-c", "raise SystemExit(1)"),
            Port(value=True),
            rf"{ENDED}\. It printed nothing\.",
        ),
        (("no-such-program",), Port(value=True), "no-such-program, which is not here"),
        (
            (sys.executable, "-c", FLOOD),
            Port(value=True),
            "The service broken was killed. It printed: it wrote more than 16 MiB; killed",
        ),
        (
            WAITS,
            LogLine("^Ready", within=0.3),
            rf"{SLOW}: no line of its output matches '\^Ready'\. It printed: not yet Ready",
        ),
        (WAITS, Port(value=True, within=0.3), SLOW),
        (WAITS, Success(Words(("false",)), within=0.3), SLOW),
    ],
)
def test_a_service_that_does_not_start_is_quoted_its_log_is_kept_and_those_before_it_end(
    words: Sequence[str], ready: Readiness, expected: str, tmp_path: Path, cache: Cache
) -> None:
    with (
        pytest.raises(HarnessError, match=expected),
        running([service("first"), serving("broken", words, ready)], tmp_path, cache),
    ):
        pytest.fail("never gets here")
    if "no model" in expected:
        assert "no model" in (cache.folder("logs") / "service-broken.log").read_text()
    assert all(log.stat().st_size < 2**25 for log in tmp_path.glob("*.log"))
    until(lambda: not processes_with(str(tmp_path)))


def test_a_service_that_has_ended_is_named_with_its_last_words(tmp_path: Path) -> None:
    with up(tmp_path, "first", "second") as up_services:
        environment_of(up_services.servers[0].config.port)
        psutil.Process(up_services.servers[0].process.pid).children()[0].kill()
        until(lambda: up_services.why_ended() is not None)
        with pytest.raises(HarnessError, match=r"^the first ended, with exit code 137: .*GET /"):
            up_services.cpu_s()
        assert "about to serve" in up_services.last_words()
        assert "service-first.log" in up_services.last_words()
        assert "service-second.log" not in up_services.last_words()


@pytest.fixture
def adopting() -> Iterator[None]:
    """As waitbench does, this process adopts orphans."""
    proc.adopt_orphans()
    yield
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 0, 0, 0, 0)


@pytest.mark.usefixtures("adopting")
def test_a_service_ends_with_the_run_also_if_its_launcher_was_killed(tmp_path: Path) -> None:
    with up(tmp_path, "first") as up_services:
        launcher = psutil.Process(up_services.servers[0].process.pid)
        (child,) = launcher.children()
        launcher.kill()
        until(lambda: up_services.servers[0].process.poll() is not None)
        assert child.is_running()
    assert not child.is_running()


def test_what_is_asked_for_too_long_is_said_to_be_not_ready(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_SPARE_S", 0.0)
    asks = "test -e late || { touch late; exit 1; }; sleep 9"
    ready = Success(Words(("sh", "-c", asks)), within=1.0)
    with (
        pytest.raises(HarnessError, match=r"The service asked was not ready within 1 s"),
        running([serving("asked", ("sleep", "60"), ready)], tmp_path, cache),
    ):
        pytest.fail("never gets here")


def test_a_service_that_is_stopped_has_not_ended_and_is_the_same_when_it_is_started_again(
    tmp_path: Path,
) -> None:
    with up(tmp_path, "first") as up_services:
        (server,) = up_services.servers
        launcher, port = server.process.pid, server.config.port
        for _ in range(2):
            environment_of(port)
            (pid,) = proc.descendants(launcher)
            assert os.sched_getscheduler(pid) == os.SCHED_BATCH, "it preempts no worker"
            before_s = up_services.cpu_s()
            request(server.config, STOP)
            assert not proc.descendants(launcher)
            assert up_services.cpu_s() >= before_s, "what it has used is its own"
            assert up_services.why_ended() is None
            request(server.config, START)
            assert tcp.is_listened_to(port), "it is up when it is ready again"
            assert up_services.cpu_s() > before_s, "it has started another Python"
        (pid,) = proc.descendants(launcher)
        os.kill(pid, signal.SIGKILL)
        until(lambda: up_services.why_ended() is not None)
    with up(tmp_path, "second") as up_services:
        request(up_services.servers[0].config, STOP)
        launcher = up_services.servers[0].process.pid
    assert not psutil.pid_exists(launcher), "one that is stopped leaves nothing, either"


LATE = """
import os, signal, time
def end(*_):
    print("ended by INT", flush=True)
    os._exit(0)
signal.signal(signal.SIGINT, end)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
begun = time.monotonic()
while time.monotonic() < begun + 0.5: time.sleep(0.01)
open("is-late", "w").close()
print("Ready", flush=True)
while True: time.sleep(1)
"""
"""A service that takes its time to begin, and for which SIGTERM is not to end it."""


def has_ended(log: Path, times: int) -> bool:
    return log.read_text().count("ended by INT") == times


@pytest.mark.parametrize(
    "ready",
    [
        LogLine("^Ready$"),
        Elapsed(1.0),
        Success(Words(("test", "-e", "is-late"))),
    ],
    ids=["log", "seconds", "command in its folder"],
)
def test_a_service_is_ready_in_each_way_that_a_worker_is_and_ends_by_its_own_signal(
    ready: Readiness, tmp_path: Path
) -> None:
    table = ServiceTable(command=Words((sys.executable, "-c", LATE)), ready=ready, stop="INT")
    late = Service(name="late", table=table, site=Site(), values={})
    with running([late], tmp_path, Cache(tmp_path / "cache")) as up_services:
        (server,) = up_services.servers
        for number in range(2):
            assert Path(server.config.folder, "is-late").exists()
            request(server.config, STOP)
            # As it is written when it is told to: it has not been killed after a time.
            until(partial(has_ended, server.log, number + 1))
            Path(server.config.folder, "is-late").unlink()
            request(server.config, START)
            assert up_services.why_ended() is None
    assert server.log.read_text().count("ended by INT") == 3


def test_a_service_that_does_not_start_again_is_said_to_be_not_ready(
    tmp_path: Path, cache: Cache
) -> None:
    once = "test -e once || echo Ready; touch once; exec sleep 60"
    service = serving("other", ("sh", "-c", once), LogLine("Ready", within=0.5))
    with running([service], tmp_path, cache) as up_services:
        (server,) = up_services.servers
        request(server.config, STOP)
        with pytest.raises(ConnectionError):
            request(server.config, START)
        until(lambda: up_services.why_ended() is not None)
        assert "it was not ready within 0.5 s: no line of its output" in str(
            up_services.why_ended()
        )


@pytest.mark.parametrize("hangs", [False, True])
def test_what_asks_whether_a_service_is_ready_leaves_no_process(
    hangs: bool, tmp_path: Path, cache: Cache
) -> None:
    daemon = f"IN={tmp_path} setsid sleep 60 >&- 2>&- &"
    words = Words(("sh", "-c", f"{daemon} {'sleep 60' if hangs else 'true'}"))
    ready = Success(words, within=0.5)
    with (
        pytest.raises(HarnessError, match="not ready within") if hangs else nullcontext(),
        running([serving("asked", ("sleep", "60"), ready)], tmp_path, cache),
    ):
        pass
    until(lambda: not processes_with(str(tmp_path)))


FORKING = """
import os, sys, time
def work():
    if sys.argv[2] == "orphan" and os.fork():
        os._exit(0)
    burn()
def burn():
    while time.process_time() < 0.3: pass
    if sys.argv[2] == "orphan":
        os.setsid()
        open("burnt", "w").close()
        time.sleep(600)
    os._exit(0)
while not os.path.exists("begin"): time.sleep(0.01)
if os.fork() == 0: work()
if sys.argv[2] == "child":
    os.wait()
    open("burnt", "w").close()
time.sleep(600)
"""
"""A service that burns 0.3 s of CPU in another process than its own, once it is told to begin."""


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("who", ["child", "orphan"])
def test_what_processes_of_a_service_have_used_is_its_own_when_they_have_ended(
    who: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:
        launch = tmp_path / "refused.py"
        launch.write_text(WITHOUT_COUNTERS)
        monkeypatch.setattr(services, "LAUNCHER", (sys.executable, str(launch)))
    (tmp_path / "forking.py").write_text(FORKING)
    words = (sys.executable, str(tmp_path / "forking.py"), "{port}", who)
    forking = serving("forking", words, Success(Words(("true",))))
    with running([forking], tmp_path, Cache(tmp_path / "cache")) as up_services:
        folder = Path(up_services.servers[0].config.folder)
        before = up_services.cpu_s()
        (folder / "begin").touch()
        until((folder / "burnt").exists)
        assert up_services.cpu_s() - before > 0.25
        assert up_services.why_ended() is None
    assert not processes_with(str(tmp_path))


def test_by_proc_the_cpu_of_a_service_that_ignores_its_children_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = tmp_path / "refused.py"
    launch.write_text(WITHOUT_COUNTERS)
    monkeypatch.setattr(services, "LAUNCHER", (sys.executable, str(launch)))
    ignores = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    with running([service("careless", ignores + ECHO)], tmp_path, Cache(tmp_path)) as up_services:
        assert math.isnan(up_services.cpu_s())
