r"""What it costs a worker to be counted from outside: turns with and without, the ratio of CPU.

    .bench/venv/bin/python benchmarks/counting_cost.py [--turns 60] [--turn 2.5] [--requests 50] \
        -- COMMAND …

COMMAND stays in the foreground; ``{port}`` in it is a free port, which is asked for ``/`` so often
a second, as an idle worker uses too little CPU for a ratio of it to say anything. In turns, the
three counters of ``waitbench.execution.counted_tree`` are opened on each thread, and closed again.
CPU is read from the clocks of the processes in both. Kept output: docs/trials/counting-cost.txt.
"""

import http.client
import os
import shlex
import subprocess
import sys
import time
from contextlib import ExitStack, suppress

from benchmarks.common import command_line, split
from waitbench.analysis.statistics import geometric_mean, log_ratios, mean
from waitbench.execution.plan import in_turn
from waitbench.model.metrics import BY_NAME
from waitbench.system import counters, ports, trees
from waitbench.system.instruments import find_system_calls

STATES = "off", "on"


def main() -> None:
    own, words = split(sys.argv[1:])
    parser = command_line(__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--turn", type=float, default=2.5, metavar="SECONDS")
    parser.add_argument("--requests", type=float, default=0, metavar="PER_SECOND")
    parser.add_argument("--settle", type=float, default=5, metavar="SECONDS")
    options = parser.parse_args(own)
    tracepoint = find_system_calls().tracepoint
    if tracepoint is None:
        sys.exit("system calls cannot be counted here")
    port = ports.free_port()
    command = [word.replace("{port}", str(port)) for word in words]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(options.settle)
        used: dict[str, list[float]] = {state: [] for state in STATES}
        for number in range(options.turns):
            for state in in_turn(STATES, number):
                with ExitStack() as stack:
                    if state == "on":
                        open_counters(stack, worker.pid, tracepoint)
                    before_s = trees.cpu_s(trees.processes(worker.pid))
                    pass_time(options.turn, options.requests, port)
                    used[state].append(trees.cpu_s(trees.processes(worker.pid)) - before_s)
            if worker.poll() is not None:
                sys.exit(f"it ended: {worker.returncode}")
    finally:
        worker.terminate()
        worker.wait()
    print(f"{shlex.join(words)}: {options.turns} turns of {options.turn:g} s each")
    for state, values in used.items():
        print(f"  counters {state}: {mean(values).value / options.turn:.3%} of a core")
    pairs = list(zip(used["off"], used["on"], strict=True))
    ratio = geometric_mean(log_ratios(pairs, BY_NAME["cpu"]))
    print(f"  on/off: {ratio.value:.4f} (95 % CI {ratio.low:.4f}–{ratio.high:.4f})")


def open_counters(stack: ExitStack, root: int, tracepoint: int) -> None:
    """Counts each thread of a tree, and what it starts, until ``stack`` is closed."""
    events = counters.TASK_CLOCK, counters.CONTEXT_SWITCHES, counters.hits_of(tracepoint)
    for process in trees.processes(root):
        for thread in process.threads():
            for kind, number in events:
                with suppress(ProcessLookupError):
                    flags = counters.INHERIT
                    descriptor = counters.open_event(kind, number, flags, process=thread.id)
                    stack.callback(os.close, descriptor)


def pass_time(seconds: float, rate: float, port: int) -> None:
    """Waits, or asks the worker ``rate`` times a second meanwhile."""
    end = time.monotonic() + seconds
    for number in range(int(seconds * rate)):
        time.sleep(max(0.0, end - seconds + number / rate - time.monotonic()))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()
    time.sleep(max(0.0, end - time.monotonic()))


if __name__ == "__main__":
    main()
