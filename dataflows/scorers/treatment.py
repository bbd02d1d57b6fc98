"""How the system treats a model process: a property of the process, not of the way it is asked."""

import fcntl
import os
from dataclasses import dataclass
from typing import Sequence

_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python names from 3.10 on


@dataclass(frozen=True)
class Treatment:
    """What a model process and its pipes are given; by default what a plain ``Popen`` gives."""

    niceness: int = 0
    """How much nicer to others than its worker, as of ``nice -n``."""
    pipe_bytes: int = 0
    """Size of each of its pipes; 0 for that which the system gives them."""


USUAL = Treatment(pipe_bytes=1 << 20)
"""What every model process gets unless it is said otherwise, whoever asks it.

A millisecond of a model's work is more than 64 KiB of long lines, and a worker that sleeps
meanwhile leaves the model without.
"""


def treat(pid: int, pipes: Sequence[int], treatment: Treatment) -> None:
    """Gives a process that has just been started, and its pipes, what they are to have.

    Raises ``OSError`` where the system refuses.
    """
    if treatment.niceness:
        # Of its first thread, and of all that it will start.
        niceness = os.getpriority(os.PRIO_PROCESS, 0) + treatment.niceness
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
    if treatment.pipe_bytes:
        for pipe in pipes:
            fcntl.fcntl(pipe, _SET_PIPE_SIZE, treatment.pipe_bytes)
