"""Launches one service, counts it with all that it starts, and ends all of that with it.

    python -I -S service_launch.py DESCRIPTOR COMMAND...

The kernel counts the CPU time of everything that the service starts, whether it still lives or not,
and this program adopts what it leaves behind. A line on the descriptor has the service's process
and the name under which its CPU time is told, in ns: system/counters.py. The service is told to
end by SIGTERM, and is killed as soon as the standard input ends. The exit code is the service's, or
128 + N where signal N has killed it.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.system.counters import answering

ENDS_WITHIN_S = 10.0
"""After SIGTERM; then it is killed."""


def main(arguments: Sequence[str]) -> int:
    """Runs one service; returns its exit code, or the negative number of its signal."""
    report, words = int(arguments[0]), arguments[1:]
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    tree = CountedTree(None)
    program = shutil.which(words[0]) or words[0]
    tree.start(Command(program=program, words=words, variables=os.environ, folder=Path.cwd()))
    with answering(lambda: round(tree.cpu_s() * 1e9)) as name:
        os.write(report, f"{tree.pids[0]} {name}\n".encode())
        os.close(report)
        _wait(tree, told)
    tree.kill_all()
    return tree.ended.get(tree.pids[0], 0)


def _wait(tree: CountedTree, told: Sequence[int]) -> None:
    """Until the service has ended, or is to be killed."""
    end_s: float | None = None
    while tree.reap() and not tree.codes:
        if told and end_s is None:
            tree.signal(signal.SIGTERM)
            end_s = time.monotonic() + ENDS_WITHIN_S
        left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
        if tree.wait(left_s, 0) or left_s == 0:
            return


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    os._exit(exit_code if exit_code >= 0 else 128 - exit_code)
