"""What ``--on`` names: the machines of a scheduler, or some processes of this one for trying."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from waitbench.cluster.units import Machines
from waitbench.model.errors import HarnessError, UsageError
from waitbench.system import machine, variables

_LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS = re.compile(r"(dask|tcp|tls)://([^/\s]+:[0-9]{1,5})/?")


@contextmanager
def machines(text: str, say: Callable[[str], None]) -> Iterator[Machines]:
    """The machines that ``text`` names, for the time of the block.

    Raises ``UsageError`` where it names none, ``HarnessError`` where they cannot be reached.
    """
    local, address = _LOCAL.fullmatch(text), _ADDRESS.fullmatch(text)
    if local is None and address is None:
        raise UsageError(
            f"--on {text!r} is neither dask://HOST:PORT, nor tls://HOST:PORT, nor local:N."
        )
    # dask takes a second to import.
    from waitbench.cluster.clusters import local_cluster
    from waitbench.cluster.on_dask import DaskMachines

    if address is not None:
        protocol = "tls" if address[1] == "tls" else "tcp"
        with closing(DaskMachines(f"{protocol}://{address[2]}")) as found:
            yield found
        return
    assert local is not None, "one of the two"
    with local_cluster(int(local[1]), say) as own, closing(DaskMachines(own)) as found:
        found.wait_for(int(local[1]))
        yield found


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
