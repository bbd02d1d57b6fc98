"""Family ``scoring``: a worker that has a model score as many candidates as a limit allows."""

import atexit
import os
import resource
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Tuple, Union

from scorers import vw
from scorers.blocking import BlockingScorer
from scorers.call import WARM_UP_CALLS
from scorers.inprocess import InProcessScorer
from scorers.nonblocking import NonblockingScorer
from scorers.problem import CANDIDATES, CONTEXTS, Problem
from support import api, items, probe
from support.per_worker import PerWorker

Scorer = Union[InProcessScorer, BlockingScorer, NonblockingScorer]
Scored = Tuple[int, int, int, float]
"""``(ident, due_ns, predicted lines, seconds taken)``."""

TRANSPORTS: Dict[str, Callable[[Path], Scorer]] = {
    "inprocess": lambda model: InProcessScorer([*vw.arguments(model), "--no_stdin"]),
    "blocking": lambda model: BlockingScorer(vw.command(model)),
    "nonblocking-spin": lambda model: NonblockingScorer(vw.command(model), parks=False),
    "nonblocking-park": lambda model: NonblockingScorer(vw.command(model), parks=True),
}
_OPENS_WITHIN_S = 60.0


def get_flow(
    transport: str = "nonblocking-park",
    timeout_ms: float = 10.0,
    calls_per_worker: int = 300,
    candidates: int = CANDIDATES,
    interval: float = 0.0,
    seed: int = 1,
) -> Any:
    """A dataflow in which each of the first 16 workers has ``calls_per_worker`` contexts scored.

    ``transport`` is one of ``TRANSPORTS``; ``timeout_ms`` is the limit of a call, ``candidates``
    how many there are to score; a context is due every ``interval`` seconds, or all are at once.
    """
    if transport not in TRANSPORTS:
        raise ValueError("transport %r is not one of: %s" % (transport, ", ".join(TRANSPORTS)))
    problem = Problem(candidates, seed)
    build_reader = items.reader_of_each_worker(calls_per_worker, items.Schedule(interval), seed)
    return api.build_dataflow(
        "scoring",
        api.dynamic_source(build_reader),
        [("score", Scoring(transport, problem, timeout_ms / 1000))],
        api.sink(ScoresWriter),
    )


class Scoring:
    """The step: a context's item becomes what came of its call. Each worker has its own model."""

    def __init__(self, transport: str, problem: Problem, limit_s: float) -> None:
        self._transport = transport
        self._problem = problem
        self._candidates = [candidate.encode() for candidate in problem.candidates]
        self._limit_s = limit_s
        self._scorers = PerWorker(self._open)

    def __call__(self, item: items.Item) -> Scored:
        ident, due_ns, _ = item
        scorer = self._scorers.own()
        context = self._problem.context(ident % CONTEXTS).encode()
        before = resource.getrusage(resource.RUSAGE_THREAD)
        predictions, call = scorer.score(context, self._candidates, self._limit_s)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        probe.sample(
            lines=len(predictions),
            taken_s=call.total_s,
            cleanup_s=call.cleanup_s,
            prepare_s=call.prepare_s,
            pending_before=call.pending_before,
            pending_after=call.pending_after,
            user_s=after.ru_utime - before.ru_utime,
            system_s=after.ru_stime - before.ru_stime,
        )
        return ident, due_ns, len(predictions), call.total_s

    def _open(self) -> Scorer:
        """Starts a worker's model and warms both up, by every transport alike.

        The first call waits for the model; those after it have the limit of all.
        """
        scorer = TRANSPORTS[self._transport](vw.model_file())
        first = self._problem.context(0).encode()
        scorer.score(first, self._candidates[:1], _OPENS_WITHIN_S)
        for number in range(CONTEXTS - WARM_UP_CALLS, CONTEXTS):
            context = self._problem.context(number).encode()
            scorer.score(context, self._candidates, self._limit_s)
        atexit.register(_closing(scorer))
        return scorer


class ScoresWriter:
    """Writes one line a call to stdout: which context, how many lines, in which time."""

    def __init__(self) -> None:
        self._probe = probe.sink()

    def write(self, scored: Scored) -> None:
        ident, due_ns, lines, taken_s = scored
        sys.stdout.write("%d %d %.6f\n" % (ident, lines, taken_s))
        self._probe.got(ident, due_ns)


def _closing(scorer: Scorer) -> Callable[[], None]:
    """A function that ends a scorer, and reports the CPU time of its model process, if it has one.

    What the model's start and warm-up took counts as the worker's helper, not as the model's own.
    """
    if isinstance(scorer, InProcessScorer):
        return scorer.close
    process = scorer.process
    user_s, system_s = _used(process.pid)

    def close() -> None:
        scorer.close()
        probe.add(model_user_s=process.user_s - user_s, model_system_s=process.system_s - system_s)

    return close


def _used(pid: int) -> Tuple[float, float]:
    """User and system time of a process so far, in seconds."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    tick = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / tick, int(fields[12]) / tick
