"""Schedulers and workers as processes of their own, on loopback, gone with the test."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from tests.conftest import PROGRAM
from waitbench.system.places import Cache


@contextmanager
def started(
    *command: str, until: str, variables: dict[str, str] | None = None
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A command in the background, and its first line that begins as ``until``."""
    process = subprocess.Popen(
        ["env", "--default-signal=INT", *PROGRAM, *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(variables or {})},
    )
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith(until)), "")
        assert line, "it ended before it said so"
        yield process, line.strip()
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def scheduler(
    *options: str, variables: dict[str, str] | None = None
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A scheduler, and its address."""
    given = options or ("--port", "0")
    with started("scheduler", *given, until="Scheduler at", variables=variables) as (process, line):
        yield process, line.rpartition(" ")[2]


@contextmanager
def worker(
    address: str, cache: Path, name: str, variables: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """A worker that has joined."""
    options = (address, "--cache", str(cache), "--name", name)
    with started("node", *options, until="Node", variables=variables) as (process, _):
        yield process


def cache_of_its_own(folder: Path) -> Path:
    """A cache without any environment; what takes a download or long to find out is there."""
    folder.mkdir(parents=True)
    for name in ("tools", "interpreters.json"):
        known = Cache().root / name
        if known.exists():
            (folder / name).symlink_to(known.resolve())
    return folder


@contextmanager
def cluster(folder: Path, names: str) -> Iterator[tuple[str, dict[str, "subprocess.Popen[str]"]]]:
    """A scheduler with a worker of each name, each with a cache of its own: address, processes."""
    with ExitStack() as stack:
        process, address = stack.enter_context(scheduler())
        found = {"": process}
        for name in names:
            cache = cache_of_its_own(folder / name)
            found[name] = stack.enter_context(worker(address, cache, name))
        yield address.replace("tcp:", "dask:"), found


def processes_of(folder: Path) -> list[str]:
    """Command lines of processes that name a folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(folder) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def make_certificate(folder: Path) -> None:
    """A certificate that vouches for itself, and its key."""
    folder.mkdir()
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    what = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=waitbench")
    subprocess.run(["openssl", "req", *what, *files], check=True, capture_output=True)


def certified(folder: Path) -> dict[str, str]:
    """The variables by which dask uses what ``make_certificate`` made."""
    prefix = "DASK_DISTRIBUTED__COMM__TLS"
    variables = {f"{prefix}__CA_FILE": str(folder / "cert.pem")}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        variables[f"{prefix}__{role}__CERT"] = str(folder / "cert.pem")
        variables[f"{prefix}__{role}__KEY"] = str(folder / "key.pem")
    return variables
