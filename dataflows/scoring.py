"""Family ``scoring``: a worker that has a model score as many candidates as it can for each context, within a limit."""

import atexit
import os
import resource
import sys
import threading

from scorers import vw
from scorers.blocking import BlockingScorer
from scorers.inprocess import InProcessScorer
from scorers.nonblocking import NonblockingScorer
from scorers.problem import CANDIDATES, CONTEXTS, Problem
from support import api, items, probe

TRANSPORTS = {
    "inprocess": lambda model: InProcessScorer([*vw.arguments(model), "--no_stdin"]),
    "blocking": lambda model: BlockingScorer(vw.command(model)),
    "nonblocking-spin": lambda model: NonblockingScorer(vw.command(model), parks=False),
    "nonblocking-park": lambda model: NonblockingScorer(vw.command(model), parks=True),
}
MAX_WORKERS = 16
_OPENS_WITHIN_S = 60.0


def get_flow(
    transport="nonblocking-park", timeout_ms=10.0, calls_per_worker=300, candidates=CANDIDATES, interval=0.0, seed=1
):
    """A dataflow in which each of the first 16 workers reads ``calls_per_worker`` contexts and has them scored.

    ``transport`` is one of ``TRANSPORTS``; ``timeout_ms`` the limit of a call; ``candidates`` how many there are to score; a
    context is due every ``interval`` seconds, or all at once.
    """
    if transport not in TRANSPORTS:
        raise ValueError("transport %r is none of: %s" % (transport, ", ".join(TRANSPORTS)))
    problem = Problem(candidates, seed)
    schedule = items.Schedule(interval)

    def build_reader(worker_index, _worker_count):
        count = calls_per_worker if worker_index < MAX_WORKERS else 0
        return items.Reader(worker_index * calls_per_worker, count, schedule, seed)

    return api.build_dataflow(
        "scoring",
        api.dynamic_source(build_reader),
        [("score", Scoring(transport, problem, timeout_ms / 1000))],
        api.sink(ScoresWriter),
    )


class Scoring:
    """The step: a context's item becomes ``(ident, due_ns, predicted lines, time taken)``. Each worker has its own model."""

    def __init__(self, transport, problem, limit_s):
        self._transport = transport
        self._problem = problem
        self._candidates = [candidate.encode() for candidate in problem.candidates]
        self._limit_s = limit_s
        self._own = threading.local()

    def __call__(self, item):
        ident, due_ns, _ = item
        scorer = getattr(self._own, "scorer", None) or self._open()
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

    def _open(self):
        """Starts this worker's model and waits until it answers, so that no call pays for its start."""
        scorer = self._own.scorer = TRANSPORTS[self._transport](vw.model_file())
        scorer.score(self._problem.context(0).encode(), self._candidates[:1], _OPENS_WITHIN_S)
        process = getattr(scorer, "process", None)
        started = (0.0, 0.0) if process is None else _used(process.pid)

        def close():
            scorer.close()
            if process is not None:
                probe.add(helper_user_s=process.user_s, helper_system_s=process.system_s)
                probe.add(model_user_s=process.user_s - started[0], model_system_s=process.system_s - started[1])

        atexit.register(close)
        return scorer


class ScoresWriter:
    """One line a call to stdout: which context, how many lines, in which time."""

    def __init__(self):
        self._probe = probe.sink()

    def write(self, scored):
        ident, due_ns, lines, taken_s = scored
        sys.stdout.write("%d %d %.6f\n" % (ident, lines, taken_s))
        self._probe.got(ident, due_ns)


def _used(pid):
    """User and system time of a process so far, in seconds."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    tick = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / tick, int(fields[12]) / tick
