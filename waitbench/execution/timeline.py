"""One extra, unmeasured run -> the CPU share of each of its threads over time.

Read from ``/proc/<pid>/task/<tid>/schedstat`` (nanoseconds on a CPU), about 20 times a second: sampling costs CPU of its own,
which is why no figure is ever taken from such a run.
"""

import csv
import io
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.environments.virtualenvs import Environment
from waitbench.execution.measure import Measurer, command, run_environment
from waitbench.execution.services import URL_VARIABLE
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.system.processes import run

INTERVAL_S = 0.05
SUFFIX = "-timeline.csv"


@dataclass(frozen=True)
class Sample:
    """One thread in one interval."""

    label: str
    time_s: float
    """Since the run began, at the end of the interval."""
    process: str
    """Such as ``worker 0`` or ``launcher``."""
    thread: str
    """Its name and number within the process, such as ``python 0``."""
    share: float
    """Of one CPU, 0 to 1."""


def record(scenario: Scenario, label: str, measurer: Measurer) -> list[Sample]:
    """Runs a scenario once on a revision and samples it. Raises ``HarnessError`` where the system has no schedstat."""
    if not Path("/proc/self/schedstat").exists():
        raise HarnessError("--timeline needs /proc/<pid>/schedstat, which this system does not have.")
    environment: Environment = measurer.environments[label]
    folder = measurer.cache.folder(f"runs/{os.getpid()}-timeline")
    (folder / "probes").mkdir(exist_ok=True)
    sampler = _Sampler(label)

    def started(group: int) -> None:
        measurer.watch(group)
        sampler.start(group)

    with (folder / "output").open("wb") as output, measurer.services(scenario, folder) as (url, _metrics):
        run(
            command(environment, scenario, measurer.topology, folder),
            stdout=output,
            stderr=output,
            time_limit_s=measurer.time_limit_s or scenario.time_limit_s,
            env={**run_environment(folder, measurer.cache), URL_VARIABLE: url},
            cwd=folder,
            on_start=started,
        )
    measurer.watch(0)
    shutil.rmtree(folder, ignore_errors=True)
    return sampler.stop()


def write(samples: Sequence[Sample]) -> str:
    """The samples as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["revision", "time_s", "process", "thread", "cpu_share"])
    writer.writerows((s.label, f"{s.time_s:.3f}", s.process, s.thread, f"{s.share:.4f}") for s in samples)
    return text.getvalue()


def read(path: Path) -> list[Sample]:
    """The samples of a CSV file."""
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [Sample(label, float(at), process, thread, float(share)) for label, at, process, thread, share in rows]


class _Sampler:
    """Samples a process group from a thread of its own until told to stop."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._samples: list[Sample] = []
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._names: dict[int, str] = {}
        self._numbers: dict[tuple[int, int], int] = {}

    def start(self, group: int) -> None:
        self._thread = threading.Thread(target=self._loop, args=(group,), daemon=True)
        self._thread.start()

    def stop(self) -> list[Sample]:
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
                    process, thread = self._process_name(pid), self._thread_name(pid, tid)
                    self._samples.append(Sample(self._label, now_at - begin, process, thread, min(max(share, 0.0), 1.0)))
            before, before_at = now, now_at

    def _process_name(self, pid: int) -> str:
        if pid not in self._names:
            self._names[pid] = _role(pid, sum(name.startswith("process") for name in self._names.values()))
        return self._names[pid]

    def _thread_name(self, pid: int, tid: int) -> str:
        of_process = [number for (other, _), number in self._numbers.items() if other == pid]
        number = self._numbers.setdefault((pid, tid), len(of_process))
        return f"{_read(Path(f'/proc/{pid}/task/{tid}/comm')) or 'thread'} {number}"


def _role(pid: int, number: int) -> str:
    arguments = (_read(Path(f"/proc/{pid}/cmdline")) or "").split("\0")
    if any(argument.endswith("launch.py") for argument in arguments):
        return "launcher"
    if "-i" in arguments:
        return f"worker {arguments[arguments.index('-i') + 1]}"
    return f"process {number}"


def _cpu_ns_of_threads(group: int) -> Iterator[tuple[tuple[int, int], int]]:
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or not _is_in(int(entry), group):
            continue
        try:
            for tid in os.listdir(f"/proc/{entry}/task"):
                used = _read(Path(f"/proc/{entry}/task/{tid}/schedstat"))
                if used:
                    yield (int(entry), int(tid)), int(used.split()[0])
        except FileNotFoundError:
            continue  # ended meanwhile


def _is_in(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except (ProcessLookupError, PermissionError):
        return False


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
