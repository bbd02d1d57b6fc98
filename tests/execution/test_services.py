"""Services of a plan: started in order, told of each other, watched, ended."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from tests.waiting import until
from waitbench.execution import services
from waitbench.execution.services import Running, running
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Service, ServicePlan
from waitbench.system import variables
from waitbench.system.places import PACKAGE, Cache

PYTHON = Path(sys.executable)
ECHO = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(dict(os.environ)).encode())

print("about to serve", file=sys.stderr, flush=True)
HTTPServer((os.environ["IP"], int(os.environ["PORT"])), Handler).serve_forever()
"""
"""A service that answers everything with its environment."""


@pytest.fixture(autouse=True)
def services_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Services ``first``, ``second`` and ``broken``, instead of the project's own."""
    folder = tmp_path / "root" / "services"
    folder.mkdir(parents=True)
    for name, program in (
        ("__init__", ""),
        ("first", ECHO),
        ("second", ECHO),
        ("broken", "raise SystemExit('no model')"),
    ):
        (folder / f"{name}.py").write_text(program)
    monkeypatch.setattr(services, "ROOT", tmp_path / "root")


def first(**settings: str) -> Service:
    return Service(name="first", settings=settings, counters=lambda _url: {"calls": 3.0})


def second(**settings: str) -> Service:
    return Service(name="second", settings=settings, upstream_variable="UPSTREAM")


def environment_of(url: str) -> Mapping[str, str]:
    with urlopen(url, timeout=30) as response:
        found: Mapping[str, str] = json.load(response)
        return found


def test_each_service_is_told_of_the_one_before_it_and_clients_go_to_the_last(
    tmp_path: Path,
) -> None:
    plan = ServicePlan(services=(first(), second()))
    with running(PYTHON, plan, tmp_path) as up:
        assert [server.service.name for server in up.servers] == ["first", "second"]
        assert up.urls == tuple(server.url for server in up.servers)
        assert up.url == up.urls[1]
        assert environment_of(up.url)["UPSTREAM"] == up.urls[0]
        assert "UPSTREAM" not in environment_of(up.urls[0])


def test_the_last_service_is_warmed_up_before_anybody_counts(tmp_path: Path) -> None:
    asked: list[str] = []
    plan = ServicePlan(services=(first(), second()), warm_up=asked.append)
    with running(PYTHON, plan, tmp_path) as up:
        assert asked == [up.url]


def test_somebody_elses_service_stands_before_the_first_of_ours(tmp_path: Path) -> None:
    plan = ServicePlan(services=(second(),), url="http://example.org:81/")
    with running(PYTHON, plan, tmp_path) as up:
        assert up.urls == ("http://example.org:81", up.servers[0].url)
        assert environment_of(up.url)["UPSTREAM"] == "http://example.org:81"


def test_with_somebody_elses_alone_nothing_is_started(tmp_path: Path) -> None:
    plan = ServicePlan(services=(), url="http://example.org")
    with running(PYTHON, plan, tmp_path) as up:
        assert up == Running((), ("http://example.org",))
        assert (up.cpu_s(), up.counters()) == ({}, {})


def test_settings_reach_a_service_and_what_would_change_it_by_chance_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("BENCH_PROBE_DIR", "/nowhere")
    monkeypatch.setenv("MODE", "of the user")
    with running(PYTHON, ServicePlan(services=(first(MODE="ours"),)), tmp_path) as up:
        found = environment_of(up.url)
    assert found["MODE"] == "ours"
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert "BENCH_PROBE_DIR" not in found


def test_what_the_callers_shell_holds_does_not_reach_a_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_the_user = "http://127.0.0.1:9"
    for name in ("SECRET_TOKEN", "LOG_LEVEL", "MAX_CLIENT_BATCH_SIZE", "http_proxy"):
        monkeypatch.setenv(name, of_the_user)
    plan = ServicePlan(services=(first(), second()))
    with variables.only_listed(), running(PYTHON, plan, tmp_path) as up:
        for url in up.urls:
            assert of_the_user not in environment_of(url).values()


def test_cpu_and_counters_are_kept_by_name(tmp_path: Path) -> None:
    plan = ServicePlan(services=(first(), second()))
    with running(PYTHON, plan, tmp_path) as up:
        used = up.cpu_s()
        assert set(used) == {"first", "second"}
        assert min(used.values()) > 0, "each has started a Python"
        assert up.counters() == {"calls": 3.0}


def test_all_services_end_with_the_block_even_by_an_error(tmp_path: Path) -> None:
    plan = ServicePlan(services=(first(), second()))
    pids = []
    with pytest.raises(ZeroDivisionError), running(PYTHON, plan, tmp_path) as up:
        pids += [server.pid for server in up.servers]
        raise ZeroDivisionError
    assert len(pids) == 2
    assert not any(map(psutil.pid_exists, pids))


def test_a_service_that_does_not_start_is_quoted_and_those_before_it_end(tmp_path: Path) -> None:
    plan = ServicePlan(services=(first(), Service(name="broken", settings={})))
    with (
        pytest.raises(
            HarnessError, match=r"service broken ended with exit code 1.*\n.*\n.*no model"
        ),
        running(PYTHON, plan, tmp_path),
    ):
        pytest.fail("never gets here")
    own = psutil.Process()
    until(lambda: not any("services.first" in child.cmdline() for child in own.children()))


def test_of_a_service_that_does_not_start_it_is_said_what_it_was_to_use_and_its_log_is_kept(
    tmp_path: Path, cache: Cache
) -> None:
    (tmp_path / "root" / "services" / "mute.py").write_text("raise SystemExit(3)")
    for name, words in (("broken", "no model"), ("mute", "it printed nothing")):
        service = Service(name=name, settings={}, upstream_variable="UPSTREAM")
        plan = ServicePlan(services=(service,), url="kafka://127.0.0.1:9")
        with (
            pytest.raises(HarnessError) as raised,
            running(PYTHON, plan, tmp_path, cache),
        ):
            pytest.fail("never gets here")
        said = str(raised.value).splitlines()[0]
        assert f"The service {name} ended with exit code" in said
        assert words in said
        assert "It was to use kafka://127.0.0.1:9." in said
        log = cache.folder("logs") / f"service-{name}.log"
        assert str(log) in str(raised.value).splitlines()[1]
        assert ("no model" in log.read_text()) == (name == "broken")


@pytest.mark.parametrize("is_said", [True, False])
def test_whoever_meets_a_service_that_has_ended_names_it_with_its_last_words(
    tmp_path: Path, is_said: bool
) -> None:
    with running(PYTHON, ServicePlan(services=(first(), second())), tmp_path) as up:
        psutil.Process(up.servers[0].pid).kill()
        until(lambda: up.ended() is not None)
        said = r"^the first ended, with exit code -9: .*GET /health"
        with pytest.raises(HarnessError, match=said), up.blamed():
            if is_said:
                raise HarnessError("nobody answers")
        with pytest.raises(HarnessError, match=said):
            up.cpu_s()
        assert "about to serve" in up.last_words()
        assert "service-first.log" in up.last_words()
        assert "service-second.log" not in up.last_words()


def test_what_a_service_says_is_in_its_log(tmp_path: Path) -> None:
    with running(PYTHON, ServicePlan(services=(first(),)), tmp_path):
        assert "about to serve" in (tmp_path / "service-first.log").read_text()


def test_who_listens_to_a_service_that_has_ended_is_told_at_once(tmp_path: Path) -> None:
    with running(PYTHON, ServicePlan(services=(first(),)), tmp_path) as up:
        psutil.Process(up.servers[0].pid).kill()
        until(lambda: up.ended() is not None)
        told: list[bool] = []
        with up.on_end(lambda: told.append(True)):
            assert told == [True]
        with pytest.raises(HarnessError):
            up.cpu_s()


FORKING = """
import os, sys, time
def work():
    if sys.argv[2] == "middle":
        if os.fork() == 0:
            burn()
        os.wait()
        open("burnt", "w").close()
        time.sleep(600)
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
@pytest.mark.parametrize("who", ["child", "middle", "orphan"])
def test_what_processes_of_a_service_have_used_is_its_own_when_they_have_ended(
    who: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:
        launch = tmp_path / "refused.py"
        launch.write_text(
            f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
            "from waitbench.execution import counted_tree, service_launch\n"
            "def refuse(*_arguments, **_options): raise PermissionError(1, 'no')\n"
            "counted_tree.counters.TreeCounters = refuse\n"
            "service_launch._end(service_launch.main(sys.argv[1:]))\n"
        )
        monkeypatch.setattr(services, "_LAUNCH", launch)
    (tmp_path / "forking.py").write_text(FORKING)
    forking = Service(
        name="forking",
        settings={},
        command=lambda port, _folder, python: [
            str(python), str(tmp_path / "forking.py"), str(port), who,
        ],
        is_up=lambda _url: True,
    )  # fmt: skip
    with running(PYTHON, ServicePlan(services=(forking,)), tmp_path) as up:
        folder = up.servers[0].folder
        before = up.cpu_s()["forking"]
        (folder / "begin").touch()
        until((folder / "burnt").exists)
        assert up.cpu_s()["forking"] - before > 0.25
        assert up.ended() is None
    assert not any(str(tmp_path / "forking.py") in words for words in command_lines())


def command_lines() -> list[list[str]]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.append(process.cmdline())
    return found


def test_what_a_service_runs_on_is_got_before_and_it_is_told_where(
    tmp_path: Path, cache: Cache
) -> None:
    asked: list[Path] = []

    def prepare(folder: Path, _say: object) -> Mapping[str, str]:
        asked.append(folder)
        return {"JARS": "there"}

    plan = ServicePlan(services=(replace(first(), prepare=prepare),))
    services.prepare(plan, cache, print)
    with running(PYTHON, plan, tmp_path, cache) as up:
        assert environment_of(up.url)["JARS"] == "there"
    assert asked == [cache.folder("services")] * 2
