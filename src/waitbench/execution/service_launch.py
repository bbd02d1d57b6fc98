"""Launches one service, counts it with all that it starts, and ends all of that with it.

    python -I service_launch.py DESCRIPTOR COMMAND...

The kernel counts the CPU time of everything that the service starts, whether it still lives or not,
and this program adopts what it leaves behind. A line on the descriptor has the service's process
and the name under which its CPU time is told, in ns: system/counters.py. The service is told to
end by SIGTERM, and is killed as soon as the standard input ends. The exit code is the service's.
"""

import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.system.confinement import adopting_orphans
from waitbench.system.counters import answering

ENDS_WITHIN_S = 10.0
"""After SIGTERM; then it is killed."""


def main(arguments: Sequence[str]) -> int:
    """Runs one service; returns its exit code, or the negative number of its signal."""
    report, words = int(arguments[0]), arguments[1:]
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    tree = CountedTree(None)
    with adopting_orphans():
        program = shutil.which(words[0]) or words[0]
        tree.start([Command(program=program, words=words, variables=os.environ, folder=Path.cwd())])
        with answering(lambda: round(tree.cpu_s() * 1e9)) as name:
            os.write(report, f"{tree.pid} {name}\n".encode())
            os.close(report)
            _wait(tree, woken)
        tree.kill_all()
    return tree.ended.get(tree.pid, 0)


def _wait(tree: CountedTree, woken: int) -> None:
    """Until the service has ended, or is to be killed."""
    end_s: float | None = None
    while tree.pid not in tree.ended:
        left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
        ready = select.select([0, woken], [], [], left_s)[0]
        if 0 in ready or left_s == 0:
            return
        if signal.SIGTERM in os.read(woken, 4096) and end_s is None:
            tree.signal(signal.SIGTERM)
            end_s = time.monotonic() + ENDS_WITHIN_S
        tree.reap()


def _end(code: int) -> None:
    """Ends this process as the service ended."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    _end(main(sys.argv[1:]))
