"""Has a model score as many candidates as a time-out allows, call after call.

    python predict.py HOW CALLS TIMEOUT_MS CANDIDATES METRICS

Writes how long each call took, how many lines it predicted and what it cost its caller to METRICS.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import vw
from blocking import BlockingScorer
from inprocess import InProcessScorer
from nonblocking import NonblockingScorer
from problem import CONTEXTS, Problem

Scorer: TypeAlias = InProcessScorer | BlockingScorer | NonblockingScorer

WAYS: dict[str, Callable[[Path], Scorer]] = {
    "inprocess": lambda model: InProcessScorer([*vw.arguments(model), "--no_stdin"]),
    "blocking": lambda model: BlockingScorer(vw.command(model)),
    "nonblocking": lambda model: NonblockingScorer(vw.command(model), parks=True),
    "nonblocking-spin": lambda model: NonblockingScorer(vw.command(model), parks=False),
}
WARM_UP_CALLS = 20
"""Calls before the first that counts.

A model's first ones touch weights that no cache has, and a nonblocking scorer does not yet know how
quick its model is.
"""
_OPENS_WITHIN_S = 60.0


def main(how: str, calls: str, timeout_ms: str, candidates: str, metrics: str) -> None:
    problem, limit_s = Problem(int(candidates)), float(timeout_ms) / 1000
    scorer = WAYS[how](vw.model_file())
    warm_up(scorer, problem, limit_s)
    print("ready", flush=True)
    found = measure(scorer, problem, int(calls), limit_s)
    scorer.close()
    Path(metrics).write_text(json.dumps(found) + "\n", "utf-8")


def warm_up(scorer: Scorer, problem: Problem, limit_s: float) -> None:
    """The first call waits for the model; those after it have the limit of all."""
    candidates = [candidate.encode() for candidate in problem.candidates]
    scorer.score(problem.context(0).encode(), candidates[:1], _OPENS_WITHIN_S)
    for number in range(CONTEXTS - WARM_UP_CALLS, CONTEXTS):
        scorer.score(problem.context(number).encode(), candidates, limit_s)


def measure(scorer: Scorer, problem: Problem, calls: int, limit_s: float) -> dict[str, list[float]]:
    """Each call's seconds, predicted lines and CPU seconds of this thread, by metric."""
    candidates = [candidate.encode() for candidate in problem.candidates]
    found: dict[str, list[float]] = {"predict": [], "lines": [], "caller-cpu": []}
    for number in range(calls):
        context = problem.context(number % CONTEXTS).encode()
        used_s = time.thread_time()
        predictions, call = scorer.score(context, candidates, limit_s)
        found["caller-cpu"].append(time.thread_time() - used_s)
        found["predict"].append(call.total_s)
        found["lines"].append(len(predictions))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
