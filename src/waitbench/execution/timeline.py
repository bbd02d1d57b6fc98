"""One extra, unmeasured run -> the CPU share of each of its threads over time.

Read from ``/proc/<pid>/task/<tid>/schedstat`` (nanoseconds on a CPU), about 20 times a second:
sampling costs CPU of its own, which is why no figure is ever taken from such a run.
"""

import threading
import time
from collections.abc import Iterator, Mapping

from waitbench import engines
from waitbench.engines.base import Engine
from waitbench.execution.bench import Bench
from waitbench.model.run import ThreadSample
from waitbench.model.scenario import Scenario
from waitbench.system import tasks, trees

INTERVAL_S = 0.05


def record(scenario: Scenario, label: str, bench: Bench) -> list[ThreadSample]:
    """Runs a scenario once on a revision and samples it, where ``tasks.is_possible``."""
    sampler = _Sampler(label, engines.named(bench.environments[label].engine))
    with bench.prepare(scenario, label) as ready, (ready.folder / "output").open("wb") as output:
        ready.carry_out(ready.command, stdout=output, stderr=output, on_start=sampler.start)
        return sampler.stop()


class _Sampler:
    """Samples a process and its descendants from a thread of its own until told to stop."""

    def __init__(self, label: str, engine: Engine) -> None:
        self._label = label
        self._engine = engine
        self._samples: list[ThreadSample] = []
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._names: dict[int, str] = {}
        self._numbers: dict[tuple[int, int], int] = {}

    def start(self, group: int) -> None:
        self._thread = threading.Thread(target=self._loop, args=(group,), daemon=True)
        self._thread.start()

    def stop(self) -> list[ThreadSample]:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        return self._samples

    def _loop(self, group: int) -> None:
        begin = before_at = time.monotonic()
        before: Mapping[tuple[int, int], int] = {}
        while not self._stopped.wait(INTERVAL_S):
            now_at, now = time.monotonic(), dict(_cpu_ns_of_threads(group))
            elapsed_ns = (now_at - before_at) * 1e9
            for (pid, tid), used_ns in now.items():
                if (pid, tid) in before:
                    share = (used_ns - before[pid, tid]) / elapsed_ns
                    sample = ThreadSample(
                        label=self._label,
                        time_s=now_at - begin,
                        process=self._process_name(pid),
                        thread=self._thread_name(pid, tid),
                        share=min(max(share, 0.0), 1.0),
                    )
                    self._samples.append(sample)
            before, before_at = now, now_at

    def _process_name(self, pid: int) -> str:
        if pid not in self._names:
            unknown = sum(name.startswith("process") for name in self._names.values())
            self._names[pid] = self._role(pid) or f"process {unknown}"
        return self._names[pid]

    def _role(self, pid: int) -> str | None:
        arguments = tasks.arguments(pid)
        if any(argument.endswith("launch.py") for argument in arguments):
            return "launcher"
        return self._engine.role(arguments)

    def _thread_name(self, pid: int, tid: int) -> str:
        of_process = [number for (other, _), number in self._numbers.items() if other == pid]
        number = self._numbers.setdefault((pid, tid), len(of_process))
        return f"{tasks.name(pid, tid) or 'thread'} {number}"


def _cpu_ns_of_threads(root: int) -> Iterator[tuple[tuple[int, int], int]]:
    for process in trees.processes(root):
        for tid in tasks.threads(process.pid):
            used_ns = tasks.cpu_ns(process.pid, tid)
            if used_ns is not None:
                yield (process.pid, tid), used_ns
