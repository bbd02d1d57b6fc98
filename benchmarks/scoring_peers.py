r"""Our ways to ask a model against the published package's, on the same model program, in turn.

    .bench/venv/bin/python -m pip install --no-deps --target .bench/peers subwabbit==2.1.0
    PYTHONPATH=dataflows:.bench/peers .bench/venv/bin/python benchmarks/scoring_peers.py \
        --calls 1000 --output .bench/peers/calls.csv

It also needs what ./test.sh installs. Each transport has a model process of its own. They take
turns, a block of calls each, in turned order, so that the machine's drift hits all alike. A control
process that only sleeps a millisecond at a time notes how late it wakes: a call that overruns while
the control does, too, was stopped by the machine. Kept output: docs/trials/scoring-peers.txt.
"""

import csv
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean, median

from scorers import vw
from scorers.problem import CANDIDATES, CONTEXTS, Problem

from benchmarks import scoring_transports
from benchmarks.common import command_line
from benchmarks.scoring_transports import Candidates, ReadyCall, Transport
from waitbench.execution import assets
from waitbench.execution.plan import in_turn
from waitbench.model.quantiles import quantile
from waitbench.system.places import Cache

BLOCK = 25
"""Calls of one transport before it is the next one's turn."""
WARM_UP_CANDIDATES = 40
WARM_UP_LIMIT_S = 60.0
LATE_S = 0.002
"""A call that overruns its limit by more is late."""

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


@dataclass(frozen=True, kw_only=True)
class Row:
    """One call."""

    transport: str
    call: int
    """Its number, from 0; equal numbers ask about equal contexts."""
    begun: float
    """On the monotonic clock, in seconds."""
    taken_s: float
    lines: int
    pending_before: int | None
    """Lines of earlier calls that were still to be answered; ``None`` where nobody counts them."""
    cpu_s: float
    """CPU time of the calling thread."""
    stall_s: float = 0.0
    """The longest that the control process could not run during the call."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--timeout-ms", type=float, default=10.0)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    parser.add_argument("--only", nargs="*", help="these transports")
    parser.add_argument("--output", type=Path, help="a CSV file with a row a call")
    options = parser.parse_args()
    limit_s = options.timeout_ms / 1000
    model = vw.train(assets.folder(Cache()))
    with scoring_transports.running(model, options.only) as transports:
        rows = call_in_turn(transports, Problem(options.candidates), options.calls, limit_s)
    if options.output:
        write(options.output, rows)
    report(rows, limit_s)


def call_in_turn(
    transports: Mapping[str, Transport], problem: Problem, calls: int, limit_s: float
) -> list[Row]:
    """Makes ``calls`` calls over every transport, while the control process looks on."""
    candidates = Candidates.of(problem.candidates)
    few = Candidates.of(problem.candidates[:WARM_UP_CANDIDATES])
    for transport in transports.values():
        transport.ready_call(problem.context(0), few, WARM_UP_LIMIT_S)()
    rows = []
    control = subprocess.Popen([sys.executable, "-c", CONTROL], stdout=subprocess.PIPE, text=True)
    try:
        for block, first in enumerate(range(0, calls, BLOCK)):
            for name in in_turn(list(transports), block):
                for number in range(first, min(first + BLOCK, calls)):
                    context = problem.context(number % CONTEXTS)
                    call = transports[name].ready_call(context, candidates, limit_s)
                    rows.append(time_call(name, number, call))
    finally:
        control.terminate()
        noted, _ = control.communicate()
    stalls = [(float(early), float(late)) for early, late in map(str.split, noted.splitlines())]
    return [replace(row, stall_s=_longest_within(row, stalls)) for row in rows]


def time_call(transport: str, number: int, call: ReadyCall) -> Row:
    """Makes a call; returns what it took and gave."""
    before = resource.getrusage(resource.RUSAGE_THREAD)
    begun = time.monotonic()
    predictions, observed = call()
    ended = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_THREAD)
    return Row(
        transport=transport,
        call=number,
        begun=begun,
        taken_s=ended - begun,
        lines=len(predictions),
        pending_before=observed.pending_before if observed else None,
        cpu_s=after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
    )


def write(path: Path, rows: Sequence[Row]) -> None:
    """Writes a CSV file with a row a call."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def report(rows: Sequence[Row], limit_s: float) -> None:
    """Prints a line for each transport."""
    heads = (
        "calls", "p50 ms", "p99 ms", "max ms", "lines", "no lines", "… after leftovers", "CPU ms",
        "> limit + 2 ms (stalled)",
    )  # fmt: skip
    print("  ".join([f"{'transport':>21}", *(f"{head:>8}" for head in heads)]))
    for name in dict.fromkeys(row.transport for row in rows):
        calls = [row for row in rows if row.transport == name]
        taken_ms = [row.taken_s * 1000 for row in calls]
        empty = [row for row in calls if row.lines == 0]
        after_leftovers = str(sum(bool(row.pending_before) for row in empty))
        if calls[0].pending_before is None:
            after_leftovers = "–"
        late = [row for row in calls if row.taken_s > limit_s + LATE_S]
        stalled = sum(row.stall_s > (row.taken_s - limit_s) / 2 for row in late)
        print(
            f"{name:>21}  {len(calls):>8}  {median(taken_ms):>8.3f}  "
            f"{quantile(taken_ms, 0.99):>8.3f}  {max(taken_ms):>8.3f}  "
            f"{fmean(row.lines for row in calls):>8.1f}  {len(empty):>8}  {after_leftovers:>17}  "
            f"{fmean(row.cpu_s for row in calls) * 1000:>8.3f}  {len(late)} ({stalled})"
        )


def _longest_within(row: Row, stalls: Sequence[tuple[float, float]]) -> float:
    """The longest of some stalls, each from when to when, that falls into a call."""
    ended = row.begun + row.taken_s
    within = (late - early for early, late in stalls if early < ended and late > row.begun)
    return max(within, default=0.0)


if __name__ == "__main__":
    main()
