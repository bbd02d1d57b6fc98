"""Carries out units on a worker of dask: each in a process of its own, while the worker sleeps.

The process is what a user would have started; signals, guards and cleaning up are its own. It gets
its order as the first line of stdin, and it ends when that ends: it cannot outlive its worker.
"""

import asyncio
import hashlib
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from waitbench.cluster.dask_settings import distributed
from waitbench.cluster.units import RESULTS, WHEELS
from waitbench.system import locks, variables
from waitbench.system.places import Cache
from waitbench.system.processes import kill_group, tail

MACHINE = "machine"
"""The resource of which every worker of ours has one."""
PLUGIN = "waitbench"
_LONGEST_LINE = 2**28
_ENDS_WITHIN_S = 5.0


@dataclass
class UnitRunner(distributed.WorkerPlugin):
    """Starts the processes of units, and ends one whose task nobody wants any more."""

    program: Sequence[str]
    """What starts waitbench, with a command to follow."""
    cache: Cache
    name: str = PLUGIN
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    def transition(self, key: Any, start: str, finish: str, **_: object) -> None:
        """Told by dask whenever a task changes its state."""
        process = self._running.get(key)
        if process is not None and start != finish and finish in ("cancelled", "released"):
            _let_go(process)

    async def carry_out(
        self, key: str, topic: str, order: str, wheels: Mapping[str, bytes]
    ) -> Mapping[str, Any]:
        """Runs a unit to its end; what it says goes to the topic."""
        worker = distributed.get_worker()
        with locks.own_folder(self.cache.folder("units")) as folder:
            _write_wheels(folder / WHEELS, wheels)
            complaints = folder / "complaints"
            with complaints.open("wb") as stderr:
                process = await self._start(folder, stderr)
            self._running[key] = process
            try:
                await _follow(process, order, worker, key, topic)
                code = await process.wait()
            finally:
                del self._running[key]
                await _end(process)
            files = _contents(folder / RESULTS) if code == 0 else {}
            return {"code": code, "said": tail(complaints), "files": files}

    async def _start(self, folder: Path, stderr: IO[bytes]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(*self.program, "unit", str(folder), "--cache", str(self.cache.root)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=variables.of_caller(),
            limit=_LONGEST_LINE,
            # A Ctrl-C that is meant for the worker reaches it by the worker, in order.
            start_new_session=True,
        )


async def carry_out(key: str, topic: str, order: str, wheels: Sequence[bytes]) -> Mapping[str, Any]:
    """The task of a unit, as it is submitted: what ``UnitRunner`` of the worker makes of it."""
    runner = distributed.get_worker().plugins[PLUGIN]
    assert isinstance(runner, UnitRunner), "a worker of ours has it"
    by_digest = {hashlib.sha256(wheel).hexdigest(): wheel for wheel in wheels}
    return await runner.carry_out(key, topic, order, by_digest)


def as_it_is(content: bytes) -> bytes:
    """The task of a wheel: workers have it of one another."""
    return content


async def _follow(
    process: asyncio.subprocess.Process, order: str, worker: Any, key: str, topic: str
) -> None:
    """Hands over the order, and hands on each line that the process prints."""
    assert process.stdin is not None, "opened with a pipe"
    assert process.stdout is not None, "opened with a pipe"
    with suppress(OSError):  # it may have ended already
        process.stdin.write(f"{order}\n".encode())
        await process.stdin.drain()
    async for line in process.stdout:
        worker.log_event(topic, {"key": key, "line": line.decode("utf-8", "replace").rstrip("\n")})


async def _end(process: asyncio.subprocess.Process) -> None:
    """Sees to it that nothing of it is left."""
    _let_go(process)
    try:
        await asyncio.wait_for(asyncio.shield(process.wait()), _ENDS_WITHIN_S)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    finally:
        kill_group(process.pid)


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Ends its stdin, by which it knows that nobody wants it any more."""
    if process.stdin is not None:
        process.stdin.close()


def _write_wheels(folder: Path, wheels: Mapping[str, bytes]) -> None:
    for digest, content in wheels.items():
        folder.mkdir(exist_ok=True)
        (folder / digest).write_bytes(content)


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
