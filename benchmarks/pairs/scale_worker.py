"""Sleeps beside children that sleep, or wake each other up: scale_worker.py CHILDREN WAKEUPS.

``WAKEUPS`` a second are shared by pairs of children, each of which sends a byte to and fro. It ends
at SIGTERM with all its children.
"""

import os
import signal
import sys
import time
from collections.abc import Callable

MOST_OF_A_PAIR = 25_000
"""Wake-ups a second."""
TICK_S = 0.01


def sleep() -> None:
    while True:
        time.sleep(3600)


def send(reading: int, writing: int, each_tick: int) -> None:
    due_s = time.monotonic()
    while True:
        for _ in range(each_tick):
            os.write(writing, b"x")
            os.read(reading, 1)
        due_s += TICK_S
        time.sleep(max(0.0, due_s - time.monotonic()))


def answer(reading: int, writing: int) -> None:
    while True:
        os.read(reading, 1)
        os.write(writing, b"x")


def main(sleepers: int, wakeups: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    children: list[tuple[Callable[..., None], tuple[int, ...]]] = [(sleep, ())] * sleepers
    pairs = -(-wakeups // MOST_OF_A_PAIR)
    for _ in range(pairs):
        (to_read, to_write), (back_read, back_write) = os.pipe(), os.pipe()
        each_tick = max(1, round(wakeups / pairs * TICK_S / 2))
        children += [(send, (back_read, to_write, each_tick)), (answer, (to_read, back_write))]
    pids = []
    for work, arguments in children:
        if not (pid := os.fork()):
            work(*arguments)
        pids.append(pid)

    def end(_number: int, _frame: object) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    sleep()


main(int(sys.argv[1]), int(sys.argv[2]))
