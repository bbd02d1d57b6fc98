"""A scheduler and workers on this machine, for trying; they end with whoever started them."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from waitbench.model.errors import HarnessError
from waitbench.system import machine, variables

_ENDS_WITHIN_S = 3.0


@contextmanager
def local_cluster(workers: int, say: Callable[[str], None]) -> Iterator[str]:
    """The address of the scheduler, for the time of the block. Raises ``HarnessError``."""
    say(f"starting {workers} workers on this machine")
    processes = [_start("scheduler", "--port", "0")]
    try:
        assert processes[0].stdout is not None, "opened with a pipe"
        said, _, address = processes[0].stdout.readline().strip().rpartition(" ")
        if said != "Scheduler at":
            raise HarnessError("The scheduler of --on local could not be started.")
        for number in range(1, workers + 1):
            processes.append(_start("worker", address, "--name", f"local-{number}"))
        yield address
    finally:
        _end(processes)


def _start(*command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*machine.program(), *command, "--until-stdin-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=variables.of_caller(),
        # A Ctrl-C is for us: they end when we have told them what not to do any more.
        start_new_session=True,
    )


def _end(processes: "list[subprocess.Popen[str]]") -> None:
    """Ends all at once: whoever ends us does not wait long."""
    for process in processes:
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()
    for process in processes:
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None, "opened with a pipe"
        process.stdout.close()
