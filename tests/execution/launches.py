"""Launches a dataflow, or a worker that is a command, and returns what came of it."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.running import processes_with
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import services_of, worker_config
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.execution import services
from waitbench.execution.launch_report import PROBES
from waitbench.model.launch import (
    ADDRESSES,
    INDEX,
    BatchSlot,
    DataflowConfig,
    LaunchConfig,
    ServiceConfig,
    encode,
)
from waitbench.system.machine import find_instruments
from waitbench.system.paths import DATAFLOWS, PACKAGE, Cache

COUNTER = find_instruments()
ALONE = BatchSlot()

WITHOUT_COUNTERS = f"""
import sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
from waitbench.execution import counted_tree, launch
def refuse(*_arguments, **_options):
    raise PermissionError(1, "Operation not permitted")
counted_tree.counters.TreeCounters = refuse
sys.exit(launch.main(sys.argv[1:]))
"""
LAUNCHER = services.LAUNCHER[1:]
REFUSED = ("-c", WITHOUT_COUNTERS)
"""What Python is given before a launcher's arguments; the kernel refuses one of them to count."""

SLEEPS = "import time\nprint('up')\nwhile True: time.sleep(1)"
CALM = (
    "window = 0.4\nready = { log = 'up', within = 20 }\nsettled = { seconds = 0.1 }\n"
    "stop_within = 20\n"
)
"""It is ready when it says so: no load of the machine changes what is found."""


@dataclass(frozen=True)
class Launched:
    """What came of one launch."""

    exit_code: int
    failure: str
    ended: str
    """The same where it may end."""
    report: Mapping[str, Any]
    stdout: str
    stderr: str
    """The output of all that the launcher started, and its own complaints."""

    def rise(self, key: str) -> float:
        """By how much a reading rose within the window."""
        return float(self.report["marks"]["end"][key] - self.report["marks"]["begin"][key])


def launch(
    run: Path,
    config: LaunchConfig,
    program: Sequence[str] = LAUNCHER,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Launched:
    """Starts a launcher in a folder of its own; asserts that it leaves no process."""
    (run / "probes").mkdir(parents=True)
    report = run / "launched.json"
    with (run / "stdout").open("wb") as stdout, (run / "stderr").open("wb") as stderr:
        done = subprocess.run(
            [sys.executable, *program, str(report), encode(config)],
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, PROBES: str(run / "probes"), **variables},
            timeout=60,
            check=False,
            start_new_session=True,
        )
    assert not processes_with(str(run / "probes"))
    return Launched(
        exit_code=done.returncode,
        failure=text_in(run / "failure"),
        ended=text_in(run / "ended"),
        report=json.loads(report.read_text()) if report.exists() else {},
        stdout=(run / "stdout").read_text(),
        stderr=(run / "stderr").read_text(),
    )


@contextmanager
def answering(cpu_s: Callable[[], float]) -> Iterator[str]:
    """Answers in place of a service's launcher; yields its address."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")
        listener.listen()

        def answer() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:  # shut down
                    return
                with client:
                    client.recv(64)
                    client.sendall(str(cpu_s()).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listener.getsockname()[1:].decode()
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def text_in(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def dataflow(
    folder: Path,
    code: str,
    processes: int = 1,
    *,
    program: Sequence[str] = LAUNCHER,
    python: str = sys.executable,
    tracepoint: int | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Launched:
    """Runs a program of Python as an engine's processes."""
    words = [python, "-c", code, INDEX, ADDRESSES]
    config = LaunchConfig(
        program=DataflowConfig(arguments=words, processes=processes), tracepoint=tracepoint
    )
    return launch(folder / "run", config, program, {"PYTHONPATH": str(DATAFLOWS), **variables})


def worker(
    folder: Path,
    code: str,
    more: str = CALM,
    more_services: Mapping[str, ServiceConfig] = MappingProxyType({}),
    command: str = "{revision} code.py {port}",
    program: Sequence[str] = LAUNCHER,
    copies: int = 1,
    tracepoint: int | None = None,
    scenario: str = "mine",
    slot: BatchSlot = ALONE,
    window_s: float | None = None,
    modules: Sequence[str] | None = None,
) -> Launched:
    """Runs a worker that is a program of Python, as its file says, with the file's services."""
    folder.mkdir(exist_ok=True)
    (folder / "code.py").write_text(code)
    begins = f'command = {json.dumps(command)}\nfiles = ["code.py"]\n'
    (folder / "mine.toml").write_text(begins + more)
    read = worker_file.read(folder / "mine.toml")
    (parameters,) = (it.parameters for it in scenarios_of(read) if it.name == scenario)
    services_of_file = services_of(read, parameters, Path(sys.executable))
    with services.running(services_of_file, folder, Cache(folder / "cache")) as up:
        config = worker_config(read, parameters, Path(sys.executable), sys.executable, copies)
        if window_s is not None:
            config = config._replace(window_s=window_s)
        launched = LaunchConfig(
            program=config,
            services={**up.configs, **more_services},
            tracepoint=tracepoint,
            slot=slot,
            modules=modules,
        )
        result = launch(folder / "run", launched, program)
        assert up.why_ended() is None, "a phase that stops a service has not made it fail"
    was_killed = result.exit_code < 0
    assert was_killed or bool(result.failure or result.ended) != bool(result.report), result.stderr
    return result
