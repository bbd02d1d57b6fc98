"""Functions that dask calls on its workers: a check of the worker, and the run of a shard.

dask imports this module by name, so waitbench must be installed in a worker's environment. While a
shard is measured, the dask worker sleeps: its timers are stopped, and it polls nothing.
"""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dask.config
import distributed
from tornado.ioloop import PeriodicCallback

from waitbench.model.errors import UsageError
from waitbench.system import files, installation, locks
from waitbench.system.machine import find_instruments
from waitbench.system.processes import tail

PROGRAM: tuple[str, ...] = (sys.executable, "-m", "waitbench.features.cluster.shard_process")
"""The command that starts waitbench in a process that ends with this dask worker."""
START = "dask worker ADDRESS --nthreads 1 --no-nanny"
Task = tuple[Sequence[str], Mapping[str, bytes], Mapping[str, str]]
"""The arguments of ``run_shard``."""
_processes: dict[Any, "subprocess.Popen[bytes] | None"] = {}
"""The process of each shard by the key of its task; ``None`` before it starts."""


def identity() -> Mapping[str, str]:
    """The facts that machines must have in common for their figures to be compared."""
    return {
        "waitbench": installation.version_now(),
        "Python": platform.python_version(),
        "instruments": ", ".join(sorted(find_instruments().keys)) or "none",
    }


def require_same(required: Mapping[str, str], dask_worker: Any) -> None:
    """Raises ``UsageError`` for a worker that differs, or would disturb its runs."""
    here = identity()
    for name, value in required.items():
        if here[name] != value:
            raise UsageError(
                f"The worker {dask_worker.name} differs in {name}: {here[name]} there, {value} "
                "here. Their figures cannot be compared."
            )
    profiles = dask.config.get("distributed.worker.profile.enabled")
    if profiles or dask_worker.nanny is not None or dask_worker.state.nthreads > 1:
        raise UsageError(
            f"The worker {dask_worker.name} has dask's profiler, its nanny or several threads, "
            "which use CPU beside the runs. Start it with "
            f"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False, so: {START}"
        )


def run_shard(
    arguments: Sequence[str], sent: Mapping[str, bytes], required: Mapping[str, str]
) -> tuple[str, str, Mapping[str, bytes]]:
    """Runs ``compare`` in a folder with the sent files.

    Returns the name of the worker, the last lines of stderr, and the files of the results by name.
    Raises ``UsageError`` as ``require_same`` does.
    """
    worker = distributed.get_worker()
    # The worker may have joined after the first check.
    require_same(required, worker)
    key = worker.get_current_task()
    _processes[key] = None
    worker.loop.add_callback(_prepare, worker)
    with (
        locks.measuring() as lock,
        tempfile.TemporaryDirectory(dir=worker.local_directory) as name,
    ):
        folder = Path(name)
        for path, content in sent.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        _run(key, ("compare", *arguments, "--results", "results"), folder, lock)
        return str(worker.name), tail(folder / "stderr"), packed(folder / "results")


def packed(folder: Path) -> Mapping[str, bytes]:
    """The files of a folder, by name; empty if there is no folder."""
    return {path.name: files.read(path) for path in folder.glob("*")}


def _run(key: Any, command: Sequence[str], folder: Path, lock: int) -> None:
    """Runs a command until it ends, or its task is cancelled."""
    with (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            [*PROGRAM, *command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            # The process inherits the lock, and so holds it even if this worker is killed.
            pass_fds=(lock,),
            # Ctrl-C in the worker's terminal must not reach the process; the worker ends it.
            start_new_session=True,
        )
    with process:
        if key in _processes:
            _processes[key] = process
        else:  # the task was cancelled while it waited for the lock
            process.terminate()
        process.wait()
    _processes.pop(key, None)


class _EndCancelled(distributed.WorkerPlugin):
    """Ends the process of a task that is cancelled."""

    def transition(self, key: Any, start: str, finish: str, **_: object) -> None:
        """dask calls this whenever a task changes its state."""
        if start != finish and finish in ("cancelled", "released"):
            process = _processes.pop(key, None)
            if process is not None:
                process.terminate()

    def teardown(self, worker: Any) -> None:
        """dask calls this when the worker ends."""
        for key in list(_processes):
            self.transition(key, "executing", "released")


def _prepare(worker: Any) -> None:
    """Adds the plugin to a worker, and stops its timers. Runs in the worker's loop."""
    if "waitbench" not in worker.plugins:
        worker.plugins["waitbench"] = _EndCancelled()
        for callback in worker.periodic_callbacks.values():
            callback.stop()
        PeriodicCallback(worker.heartbeat, 30_000).start()
