"""Our ways to ask a model against the published package's, in one process, on the same model program, turn by turn.

    .bench/venv/bin/python -m virtualenv .bench/peers
    .bench/peers/bin/pip install vowpalwabbit==9.11.9 subwabbit==2.1.0
    .bench/peers/bin/python benchmarks/scoring_peers.py --calls 1000 --output .bench/peers/calls.csv

Each transport has a model process of its own. They take turns, a block of calls each, in turned order, so that the machine's
drift hits all alike. A control process that only sleeps a millisecond at a time notes how late it wakes: a call that overruns
while the control does, too, was stopped by the machine.
"""

import argparse
import atexit
import csv
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "dataflows"))

from scorers import vw  # noqa: E402
from scorers.blocking import BlockingScorer  # noqa: E402
from scorers.inprocess import InProcessScorer  # noqa: E402
from scorers.nonblocking import NonblockingScorer  # noqa: E402
from scorers.problem import CONTEXTS, Problem  # noqa: E402

BLOCK = 25
"""Calls of one transport before it is the next one's turn."""

CONTROL = """
import sys, time
last = time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    if now - last > 0.003:
        print("%.6f %.6f" % (last, now), flush=True)
    last = now
"""


class Peer:
    """One of subwabbit's classes behind our interface."""

    def __init__(self, model_class, model):
        import subwabbit

        self._model = model_class(subwabbit.VowpalWabbitDummyFormatter(), vw.arguments(model))

    def score(self, context, candidates, limit_s):
        return list(self._model.predict(context, candidates, timeout=limit_s)), None

    def close(self):
        self._model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--timeout-ms", type=float, default=10.0)
    parser.add_argument("--candidates", type=int, default=3000)
    parser.add_argument("--only", nargs="*", help="These transports.")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    _put_model_program_on_path()
    rows = run(options)
    if options.output:
        with options.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    report(rows, options.timeout_ms / 1000)


def run(options) -> list[dict]:
    """A row a call."""
    from subwabbit import VowpalWabbitNonBlockingProcess, VowpalWabbitProcess

    model = vw.train(ROOT / ".bench" / "assets")
    makers = {
        "inprocess": lambda: InProcessScorer([*vw.arguments(model), "--no_stdin"]),
        "blocking": lambda: BlockingScorer(vw.command(model)),
        "subwabbit-blocking": lambda: Peer(VowpalWabbitProcess, model),
        "nonblocking-spin": lambda: NonblockingScorer(vw.command(model), parks=False),
        "nonblocking-park": lambda: NonblockingScorer(vw.command(model), parks=True),
        "subwabbit-nonblocking": lambda: Peer(VowpalWabbitNonBlockingProcess, model),
    }
    names = [name for name in makers if not options.only or name in options.only]
    scorers = {name: makers[name]() for name in names}
    problem = Problem(options.candidates)
    as_text = problem.candidates
    as_bytes = [candidate.encode() for candidate in as_text]
    for name, scorer in scorers.items():
        peer = name.startswith("subwabbit")
        scorer.score(*((problem.context(0), as_text[:40]) if peer else (problem.context(0).encode(), as_bytes[:40])), 60.0)
    control = subprocess.Popen([sys.executable, "-c", CONTROL], stdout=subprocess.PIPE, text=True)
    rows = []
    for block, first in enumerate(range(0, options.calls, BLOCK)):
        turn = block % len(names)
        for name in names[turn:] + names[:turn]:
            peer = name.startswith("subwabbit")
            for number in range(first, min(first + BLOCK, options.calls)):
                context = problem.context(number % CONTEXTS)
                arguments = (context, as_text) if peer else (context.encode(), as_bytes)
                used = resource.getrusage(resource.RUSAGE_THREAD)
                begun = time.monotonic()
                predictions, call = scorers[name].score(*arguments, options.timeout_ms / 1000)
                ended = time.monotonic()
                after = resource.getrusage(resource.RUSAGE_THREAD)
                rows.append(
                    {
                        "transport": name,
                        "call": number,
                        "begun": begun,
                        "taken_s": ended - begun,
                        "lines": len(predictions),
                        "pending_before": call.pending_before if call else None,
                        "cpu_s": after.ru_utime - used.ru_utime + after.ru_stime - used.ru_stime,
                    }
                )
    control.terminate()
    stalls = [tuple(map(float, line.split())) for line in control.communicate()[0].splitlines()]
    for row in rows:
        row["stall_s"] = max(
            (late - early for early, late in stalls if early < row["begun"] + row["taken_s"] and late > row["begun"]),
            default=0.0,
        )
    for scorer in scorers.values():
        scorer.close()
    return rows


def report(rows: list[dict], limit_s: float) -> None:
    columns = (
        "transport",
        "calls",
        "p50 ms",
        "p99 ms",
        "max ms",
        "lines",
        "no lines",
        "… after leftovers",
        "CPU ms",
        "> limit + 2 ms (stalled)",
    )
    print("  ".join(f"{name:>21}" if place == 0 else f"{name:>8}" for place, name in enumerate(columns)))
    for name in dict.fromkeys(row["transport"] for row in rows):
        calls = [row for row in rows if row["transport"] == name]
        taken = sorted(row["taken_s"] * 1000 for row in calls)
        late = [row for row in calls if row["taken_s"] > limit_s + 0.002]
        stalled = sum(row["stall_s"] > (row["taken_s"] - limit_s) / 2 for row in late)
        after_leftovers = sum(row["lines"] == 0 and bool(row["pending_before"]) for row in calls)
        told = "–" if calls[0]["pending_before"] is None else str(after_leftovers)
        lines = statistics.fmean(row["lines"] for row in calls)
        print(
            f"{name:>21}  {len(calls):>8}  {statistics.median(taken):>8.3f}  {taken[int(0.99 * len(taken))]:>8.3f}  {taken[-1]:>8.3f}  "
            f"{lines:>8.1f}  {sum(row['lines'] == 0 for row in calls):>8}  {told:>17}  "
            f"{statistics.fmean(row['cpu_s'] for row in calls) * 1000:>8.3f}  {len(late)} ({stalled})"
        )


def _put_model_program_on_path() -> None:
    """Both sides run the program that is called ``vw``: this machine's, or ours under that name."""
    program = vw.program()
    if len(program) > 1:
        folder = Path(tempfile.mkdtemp(prefix="bench-vw-"))
        atexit.register(shutil.rmtree, folder)
        shim = folder / "vw"
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
        shim.chmod(0o755)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


if __name__ == "__main__":
    main()
