"""Measures planned runs: each gives a measurement, or a failed run with the reason."""

import errno
import math
import mmap
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from waitbench.execution.accounting import (
    LaunchReport,
    ProbeReport,
    incomplete_in,
    marks_of,
    metrics_of,
)
from waitbench.execution.batch import BatchMember
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.hyperfine import Hyperfine, parse_export
from waitbench.execution.identity import why_from_elsewhere
from waitbench.execution.launch_report import FAILURE, HAS_ENDED, METRICS, REPORT, REPORTS, used_s
from waitbench.model.errors import HarnessError, masked
from waitbench.model.launch import BatchSlot, DataflowConfig, WorkerConfig
from waitbench.model.metrics import SERVICE_MEMORY, STOP, WINDOW, Quantity
from waitbench.model.run import (
    ENDED,
    FAILED,
    LOST_ITEMS,
    NOT_SUPPORTED,
    TIMED_OUT,
    WARM_UP,
    FailedRun,
    Lack,
    Measurement,
    PlannedRun,
    Result,
)
from waitbench.system import files, locks, shutdown
from waitbench.system.machine import CpuTimes, available_memory, other_load, usable_cpus
from waitbench.system.processes import ask, tail


class _NoMeasurement(Exception):
    """The reason why a run has no measurement."""

    def __init__(self, message: str, reason: str = FAILED) -> None:
        super().__init__(message)
        self.reason = reason


class InterruptedRuns(shutdown.Interrupted):
    """The harness was ended during concurrent runs; has the results of those that were over."""

    def __init__(self, results: Sequence[tuple[PlannedRun, Result]]) -> None:
        super().__init__()
        self.results = results


_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = re.compile(
    r"^(?:The above exception was the direct cause of|During handling of the above).*\n",
    re.MULTILINE,
)
_EXCEPTION = re.compile(r"^ .*\n(\S.*)$", re.MULTILINE)
"""The line after a traceback is the exception."""
_MAX_LOG_LINES, _MAX_EXCEPTION_CHARS = 200, 200
_PREFAULT_WITHIN_S = 10.0
_KILLED = "killed with all its processes"


@dataclass(frozen=True)
class Measurer:
    """Measures planned runs, one at a time or concurrently."""

    hyperfine: Hyperfine
    bench: Bench

    def measure(
        self, *planned: PlannedRun, turns_s: Sequence[float] = (), lanes: int = 1
    ) -> list[Result]:
        """Measures a run, or concurrent ones, which begin in this order when all services are up.

        A worker's failure is a result, not an exception. The CPU of concurrent runs is not that of
        other programs. Raises ``InterruptedRuns``, whose results lack the CPU of other programs.
        """
        with ExitStack() as stack:
            runs = [_Run(run, stack.enter_context(ExitStack())) for run in planned]
            if planned[1:] and planned[0].scenario.is_staggered:
                folder = stack.enter_context(locks.temporary_folder())
                for number, run in enumerate(runs):
                    run.slot = BatchSlot(str(folder), number, len(runs), lanes, *turns_s)
                    BatchMember(run.slot).enter()
            shutdown.run_parallel(self._prepare, runs)
            before, begun_s = CpuTimes.now(), used_s()
            results = list[tuple[PlannedRun, Result]]()
            try:
                shutdown.run_parallel(self._carry_out, runs)
                after, ours_s = CpuTimes.now(), used_s() - begun_s
                results += self._results(runs)
                shutdown.run_parallel(lambda run: run.resources.close(), runs)
            except shutdown.Interrupted as ended:
                raise InterruptedRuns(results or self._results(runs)) from ended
        # No metric has CPU that a run used while it waited for others of its batch. If runs of one
        # revision used more of it, that is CPU of other programs, so that runs take turns.
        waiting_s = defaultdict[str, float](float)
        for run in runs:
            waiting_s[run.planned.label] += run.waiting_s
        ours_s -= sum(waiting_s.values()) - len(waiting_s) * min(waiting_s.values(), default=0.0)
        # The kernel does not count children whose parents ignore SIGCHLD.
        ours_s = max(ours_s, sum(run.used_s for run in runs)) + sum(run.services_s for run in runs)
        others = other_load(before, after, ours_s)
        return [
            structs.replace(it, metrics={**it.metrics, **others})
            if isinstance(it, Measurement)
            else it
            for _, it in results
        ]

    @staticmethod
    def prefault(size: int) -> None:
        """Uses so many bytes of free memory once, by a process for each CPU, if it can.

        A hypervisor takes free pages from its guest. The next use of one costs up to 8 µs of system
        time, which adds half and more to the CPU of some starts of a batch.
        """
        free = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
        processes = max(1, int(usable_cpus()))
        each = min(size, free // 2, available_memory() // 2) // processes
        use = f"import mmap; mmap.mmap(-1, {each}, mmap.MAP_PRIVATE | mmap.MAP_POPULATE)"
        commands = [[sys.executable, "-ISc", use]] * (processes if each > 0 else 0)
        with suppress(OSError, RuntimeError):
            shutdown.run_parallel(lambda it: ask(it, time_limit_s=_PREFAULT_WITHIN_S), commands)

    def _prepare(self, run: "_Run") -> None:
        scenario, label = run.planned.scenario, run.planned.label
        if missing := self.bench.what_is_missing(scenario, label):
            run.fail(NOT_SUPPORTED, missing)
            return
        with run.guarded():
            # Warm-ups do not count, so the first round looks for the files, too.
            identifies = run.planned.round <= WARM_UP + 1
            preparation = self.bench.prepare(scenario, label, run.slot, identifies=identifies)
            run.ready = run.resources.enter_context(preparation)

    def _carry_out(self, run: "_Run") -> None:
        try:
            if run.ready:
                with run.guarded():
                    services_s = run.ready.services.cpu_s()
                    run.real_s = self._time(run.ready)
                    used_s = run.ready.services.cpu_s() - services_s
                    run.services_s = 0.0 if math.isnan(used_s) else used_s
        finally:
            BatchMember(run.slot).leave()

    def _results(self, runs: Sequence["_Run"]) -> list[tuple[PlannedRun, Result]]:
        results = list[tuple[PlannedRun, Result]]()
        for run in runs:
            if run.ready and run.real_s and not run.failure:
                with run.guarded():
                    results.append((run.planned, self._read(run, run.ready)))
            if run.failure:
                results.append((run.planned, run.failure))
        return results

    def _read(self, run: "_Run", ready: ReadyRun) -> Measurement:
        """Merges the reports of launcher, probes and worker. Raises ``_NoMeasurement``."""
        planned, scenario = run.planned, run.planned.scenario
        try:
            launched = msgspec.json.decode(files.read(ready.folder / REPORT), type=LaunchReport)
            # Only dataflows have a probe; files of a worker are its own and do not count.
            is_dataflow = isinstance(ready.config.program, DataflowConfig)
            probes = (ready.folder / REPORTS).glob("*.json") if is_dataflow else ()
            reports = [
                msgspec.json.decode(files.read(path), type=ProbeReport) for path in sorted(probes)
            ]
            _require_complete(reports, scenario.expected_items(self.bench.topology))
            # NaN is rejected: it compares false with any limit.
            metrics = metrics_of(run.real_s, launched, reports)
            metrics = msgspec.convert(metrics, dict[str, Quantity])
            incomplete = incomplete_in(launched)
        # Reports are written by code under test.
        except (
            OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError,
            RecursionError,
        ) as error:  # fmt: skip
            what = f"{type(error).__name__}: {error}"[:200]
            raise _NoMeasurement(f"a process's report cannot be read ({what})") from error
        run.used_s = metrics["time_cpu"] + metrics["time_cpu_launcher"]
        run.waiting_s = (
            launched.used["time_user"] + launched.used["time_system"] - metrics["time_cpu"]
        )
        copies = scenario.topology_in(self.bench.topology).processes
        written = [ready.folder / f"{METRICS}-{number}.jsonl" for number in range(copies)]
        if STOP.key in incomplete:
            lack = Lack(why="it was killed, perhaps before it had written all")
            keys = (metric.key for metric in scenario.metrics if metric.is_declared)
            incomplete |= dict.fromkeys(keys, lack)
        else:
            try:
                metrics |= scenario.written_metrics(written)
            except ValueError as error:
                raise _NoMeasurement(str(error)) from error
        environment, loaded = self.bench.environments[planned.label], launched.loaded
        program, modules = ready.config.program, ready.config.modules
        if modules:
            assert isinstance(program, WorkerConfig), "modules are looked for in worker files' runs"
            if why := why_from_elsewhere(loaded, modules, environment, program):
                raise _NoMeasurement(why)
        if services := ready.services.configs.values():
            metrics[SERVICE_MEMORY] = sum(it.memory for it in services)
        known = {WINDOW, SERVICE_MEMORY, *(it.key for it in scenario.metrics)} - incomplete.keys()
        return Measurement(
            **run.identity,
            metrics={key: value for key, value in metrics.items() if key in known},
            marks=marks_of(launched),
            incomplete=incomplete,
            left=launched.left,
            loaded={} if modules else {path: files.sha256(Path(path)) for path in loaded},
        )

    def _time(self, ready: ReadyRun) -> float:
        """Runs a launcher once under hyperfine; returns the real time in s.

        Raises ``_NoMeasurement``.
        """
        export, stderr_file = ready.folder / "export.json", ready.folder / "stderr"
        finished = ready.carry_out(self.hyperfine.arguments(ready.launcher, export))
        if finished.wrote_too_much:
            size = f"{files.MOST_OUTPUT >> 20} MiB"
            raise _NoMeasurement(f"it wrote more than {size} to its output; {_KILLED}")
        if finished.timed_out:
            time_limit = f"{ready.time_limit_s:g} s"
            raise _NoMeasurement(f"still running after {time_limit}; {_KILLED}", TIMED_OUT)
        if finished.returncode != 0 or not export.exists():
            raise _NoMeasurement(f"hyperfine ended with exit code {finished.returncode}")
        real_s, exit_code = parse_export(_text_of(export))
        for name, reason in ((FAILURE, FAILED), (HAS_ENDED, ENDED)):
            if (why := ready.folder / name).exists():
                last_words = _last_words(stderr_file) or _last_words(ready.folder / "stdout")
                raise _NoMeasurement(_text_of(why) + last_words, reason)
        if exit_code != 0:
            is_worker = isinstance(ready.config.program, WorkerConfig)
            what = "waitbench's launcher" if is_worker else "the dataflow"
            how = f"{what} ended with exit code {exit_code}"
            raise _NoMeasurement(f"{how}{_last_words(stderr_file)}")
        if left := finished.leftovers:
            processes = "1 process" if left == 1 else f"{left} processes"
            raise _NoMeasurement(f"{processes} still ran after the launcher's end; killed")
        return real_s


@dataclass
class _Run:
    """A run in progress."""

    planned: PlannedRun
    resources: ExitStack
    """Its services and its folder."""
    slot: BatchSlot = field(default_factory=BatchSlot)
    started_at: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    )
    ready: ReadyRun | None = None
    real_s: float = 0.0
    used_s: float = 0.0
    """CPU of its processes and of its launcher; 0 while unknown."""
    waiting_s: float = 0.0
    """CPU of its processes while it waited for others of its batch."""
    services_s: float = 0.0
    failure: FailedRun | None = None

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "label": self.planned.label,
            "round": self.planned.round,
            "position": self.planned.position,
            "started_at": self.started_at,
        }

    def fail(self, reason: str, message: str, log: str = "") -> None:
        if shutdown.was_interrupted():
            return  # it was killed with all others
        message, log = masked(message), masked(log)
        self.failure = FailedRun(**self.identity, reason=reason, message=message, log=log)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Records an error in the block as the run's failure."""
        try:
            yield
        except _NoMeasurement as why:
            assert self.ready is not None, "it has been run"
            folder, services = self.ready.folder, self.ready.services
            # The first lines, too: a worker may report the cause there, and go on.
            output = tail(folder / "stdout", 10, first=3), tail(folder / "stderr", 20, first=3)
            log = "\n".join((*output, services.last_words())).strip()
            # If a service ended, that is reported instead of the worker's failure.
            if ended := services.why_ended():
                self.fail(FAILED, ended, log)
            else:
                self.fail(why.reason, str(why), log)
        except HarnessError as error:  # a service that does not start, or that has ended
            self.fail(FAILED, error.reason, str(error))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # nothing could be written of any run
            self.fail(FAILED, f"it could not be started: {error.strerror}", str(error))


def _require_complete(reports: Sequence[ProbeReport], expected: int | None) -> None:
    """Raises ``_NoMeasurement`` if items were lost or doubled."""
    if expected is None:
        return
    items_in = sum(report.items_in for report in reports)
    items_out = sum(report.items_out for report in reports)
    if not reports or items_in != expected or items_out != expected:
        raise _NoMeasurement(
            f"{expected} items expected, {items_in} went in, {items_out} came out", LOST_ITEMS
        )
    # Items are numbered from 0: their sum shows if one was lost and another doubled.
    expected_sum = expected * (expected - 1) // 2
    sums = ((report.ident_sum_in, report.ident_sum_out) for report in reports)
    if any(sum(column) != expected_sum for column in zip(*sums, strict=True)):
        raise _NoMeasurement(
            f"{expected} items came out, but not the {expected} that were expected", LOST_ITEMS
        )


def _text_of(path: Path) -> str:
    try:
        return files.read(path).decode("utf-8", "replace")
    except OSError as error:
        raise _NoMeasurement(f"its file {path.name} cannot be read: {error.strerror}") from error


def _last_words(output: Path) -> str:
    """Returns the last line of an output; after a traceback, its causes as well, latest first."""
    lines = tail(output, _MAX_LOG_LINES).splitlines(keepends=True)
    text = "".join(
        line for line in lines if line.strip() and "Ignoring non-zero exit code" not in line
    )
    parts = _CHAINED.split(text)[::-1]
    words = parts[0].splitlines()[-1:]
    for part, cause in pairwise(parts):
        exceptions = _EXCEPTION.findall(cause)
        # A second traceback in a part is the end of one chain and the beginning of another.
        if not exceptions or part.count(_TRACEBACK) != 1:
            break
        words.append(exceptions[-1])
    causes = "; from ".join(text.strip()[:_MAX_EXCEPTION_CHARS] for text in words)
    return f": {causes}" if causes else ""
