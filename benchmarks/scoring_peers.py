r"""Our ways to ask a model against the published package's, on the same model program, in turn.

    .bench/venv/bin/python -m pip install --no-deps --target .bench/peers subwabbit==2.1.0
    PYTHONPATH=dataflows:.bench/peers .bench/venv/bin/python benchmarks/scoring_peers.py \
        --calls 1000 --output .bench/peers/calls.csv

It also needs what ./test.sh installs. Each transport has a model process of its own, and all of
these have one niceness and one size of pipes. With --treatments each transport is there four times:
niceness 0 or 5, pipes as the system gives them or of 1 MiB. They take turns, a block of calls each,
in turned order, so that the machine's drift hits all alike.

A control process that only sleeps a millisecond at a time notes how late it wakes: a call that
overruns while the control does, too, was stopped by the machine. Each call without a line is
printed, with what the call before left, how long the control could not run, and how long the
model's threads ran and waited for a core. Kept output: docs/trials/scoring-peers.txt.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from pathlib import Path

from scorers import vw
from scorers.call import WARM_UP_CALLS
from scorers.problem import CANDIDATES, CONTEXTS, Problem
from scorers.treatment import USUAL, Treatment

from benchmarks import scoring_calls, scoring_transports
from benchmarks.common import command_line
from benchmarks.scoring_calls import Row
from benchmarks.scoring_transports import Candidates, Model, ReadyCall, Transport
from waitbench.execution import assets
from waitbench.execution.plan import in_turn
from waitbench.system.places import Cache

BLOCK = 25
"""Calls of one transport before it is the next one's turn."""
OPENS_WITHIN_S = 60.0
TREATMENTS = [Treatment(*each) for each in product((0, 5), (0, 1 << 20))]

CONTROL = """
import time
last = time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    if now - last > 0.003:
        print("%.6f %.6f" % (last, now), flush=True)
    last = now
"""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--timeout-ms", type=float, default=10.0)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    parser.add_argument("--only", nargs="*", help="these transports")
    parser.add_argument("--niceness", type=int, default=USUAL.niceness, help="of each model")
    parser.add_argument(
        "--pipe-bytes",
        type=int,
        default=USUAL.pipe_bytes,
        help="size of each pipe; 0: as the system gives it",
    )
    parser.add_argument(
        "--treatments", action="store_true", help="each transport with each of four treatments"
    )
    parser.add_argument("--output", type=Path, help="a CSV file with a row a call")
    options = parser.parse_args()
    limit_s = options.timeout_ms / 1000
    one = Treatment(options.niceness, options.pipe_bytes)
    treatments = TREATMENTS if options.treatments else [one]
    model = vw.train(assets.folder(Cache()))
    with scoring_transports.running(model, options.only, treatments) as transports:
        rows = call_in_turn(transports, Problem(options.candidates), options.calls, limit_s)
        report_treatments([each.model for each in transports.values() if each.model is not None])
    if options.output:
        scoring_calls.write(options.output, rows)
    scoring_calls.report(rows, limit_s)


def call_in_turn(
    transports: Mapping[str, Transport], problem: Problem, calls: int, limit_s: float
) -> list[Row]:
    """Makes ``calls`` calls over every transport, while the control process looks on."""
    candidates = Candidates.of(problem.candidates)
    for transport in transports.values():
        warm_up(transport, problem, candidates, limit_s)
    rows = []
    control = subprocess.Popen([sys.executable, "-c", CONTROL], stdout=subprocess.PIPE, text=True)
    try:
        with ExitStack() as stack:
            clocks = {
                name: stack.enter_context(ModelClock(transport.model))
                for name, transport in transports.items()
            }
            for block, first in enumerate(range(0, calls, BLOCK)):
                for name in in_turn(list(transports), block):
                    for number in range(first, min(first + BLOCK, calls)):
                        context = problem.context(number % CONTEXTS)
                        call = transports[name].ready_call(context, candidates, limit_s)
                        rows.append(time_call(name, number, call, clocks[name]))
    finally:
        control.terminate()
        noted, _ = control.communicate()
    stalls = [(float(early), float(late)) for early, late in map(str.split, noted.splitlines())]
    return [replace(row, stall_s=_longest_within(row, stalls)) for row in rows]


def warm_up(transport: Transport, problem: Problem, candidates: Candidates, limit_s: float) -> None:
    """As a worker of the family does: waits for the model, then calls that do not count."""
    one = Candidates(as_text=candidates.as_text[:1], as_bytes=candidates.as_bytes[:1])
    transport.ready_call(problem.context(0), one, OPENS_WITHIN_S)()
    for number in range(CONTEXTS - WARM_UP_CALLS, CONTEXTS):
        transport.ready_call(problem.context(number), candidates, limit_s)()


class ModelClock:
    """What a model's threads did: how long they ran, and how long they waited for a core.

    A context manager. The threads are those that there are when it is made.
    """

    def __init__(self, model: Model | None) -> None:
        pid = model.pid if model else None
        self._threads = list(Path(f"/proc/{pid}/task").iterdir()) if pid else []
        self._files = [os.open(thread / "schedstat", os.O_RDONLY) for thread in self._threads]

    def __enter__(self) -> "ModelClock":
        return self

    def __exit__(self, *_error: object) -> None:
        for file in self._files:
            os.close(file)

    def read(self) -> tuple[float, float]:
        """Seconds run and waited so far, over all threads."""
        times_ns = [os.pread(file, 100, 0).split() for file in self._files]
        ran_ns = sum(int(ran) for ran, _, _ in times_ns)
        waited_ns = sum(int(waited) for _, waited, _ in times_ns)
        return ran_ns / 1e9, waited_ns / 1e9

    def ready(self) -> int:
        """How many threads run, or are ready to."""
        states = [(thread / "stat").read_text().rpartition(")")[2] for thread in self._threads]
        return sum(state.split()[0] == "R" for state in states)


def time_call(transport: str, number: int, call: ReadyCall, model: ModelClock) -> Row:
    """Makes a call; returns what it took and gave."""
    ran_s, waited_s = model.read()
    before = resource.getrusage(resource.RUSAGE_THREAD)
    begun = time.monotonic()
    predictions, pending_before = call()
    ended = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_THREAD)
    ran_until_s, waited_until_s = model.read()
    return Row(
        transport=transport,
        call=number,
        begun=begun,
        taken_s=ended - begun,
        lines=len(predictions),
        pending_before=pending_before,
        cpu_s=after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
        model_ran_s=ran_until_s - ran_s,
        model_waited_s=waited_until_s - waited_s,
        model_ready=0 if predictions else model.ready(),
    )


def report_treatments(models: Sequence[Model]) -> None:
    """Prints what the model processes were found to have: a line for each that differs."""
    observed = [model.observed() for model in models]
    for niceness, pipe_bytes in dict.fromkeys(observed):
        count = observed.count((niceness, pipe_bytes))
        print(f"models with niceness {niceness} and pipes of {pipe_bytes:,} bytes: {count}")


def _longest_within(row: Row, stalls: Sequence[tuple[float, float]]) -> float:
    """The longest of some stalls, each from when to when, that falls into a call."""
    ended = row.begun + row.taken_s
    within = (late - early for early, late in stalls if early < ended and late > row.begun)
    return max(within, default=0.0)


if __name__ == "__main__":
    main()
