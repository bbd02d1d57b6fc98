"""One extra, unmeasured run -> how often its workers made each system call, in each phase.

bpftrace counts in the kernel, exactly (system_calls.bt): whatever descends from this process, by
process, system call and stretch, where a stretch ends each time that a probe reads the process's
resources. Afterwards the probes' reports say which processes were workers, and when their phases
began. Tracing costs CPU at each call, which is why no figure is ever taken from such a run.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from system_calls import (  # type: ignore[import-untyped]
    NoSuchArchitecture,
    NoSuchSystemCall,
    syscalls,
)

from waitbench.execution.bench import Bench, ReadyRun
from waitbench.model.errors import HarnessError
from waitbench.model.run import PHASES, Calls, Trace
from waitbench.model.scenario import Scenario
from waitbench.system.instruments import TRACER
from waitbench.system.processes import kill_group, tail

_PROGRAM_TEXT = Path(__file__).with_name("system_calls.bt")
_ATTACHES_WITHIN_S = 60
_ENDS_WITHIN_S = 60
_MOST_KEYS = 2**14
"""The most that a map may hold: some 60 names in a few stretches of each process, and room."""
_MARK_BEFORE_NS = 10_000_000
"""A probe reads the clock at most so long after it has read the resources."""

_names = syscalls()


def record(scenario: Scenario, label: str, bench: Bench) -> Trace:
    """Runs a scenario once on a revision and traces it.

    Raises ``HarnessError`` with the reason where there is no trace, or not the whole of it.
    """
    with bench.prepare(scenario, label) as ready:
        with _tracing(ready) as output:
            reports = _carry_out(ready)
        return trace_of(label, parse(output.read_text("utf-8", "replace")), reports)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What system_calls.bt saw. Times in ns of the monotonic clock, by process id."""

    began: Mapping[int, int]
    ended: Mapping[int, int]
    marks: Mapping[tuple[int, int], int]
    """When each stretch but the first began, by process and the stretch's number."""
    counts: Mapping[tuple[int, int, int], int]
    """By process, stretch and number of the system call; as is ``spent``, in ns."""
    spent: Mapping[tuple[int, int, int], int]


def parse(output: str) -> Observed:
    """Reads what bpftrace wrote. Raises ``HarnessError`` unless it is all there."""
    maps: dict[str, Any] = {}
    try:
        for line in filter(None, output.splitlines()):
            said = json.loads(line)
            if said["type"] == "map":
                maps |= said["data"]
            elif said["type"] in ("lost_events", "helper_error"):
                raise HarnessError(f"{TRACER} lost events")
            elif said.get("data") == "time limit":
                raise HarnessError(f"{TRACER} reached its time limit")
        observed = Observed(
            began={pid: ns for (pid,), ns in _entries(maps, "@began")},
            ended={pid: ns for (pid,), ns in _entries(maps, "@ended")},
            marks={(pid, at): ns for (pid, at), ns in _entries(maps, "@marks")},
            counts={(pid, at, call): n for (pid, at, call), n in _entries(maps, "@calls")},
            spent={(pid, at, call): ns for (pid, at, call), ns in _entries(maps, "@spent")},
        )
        totals = int(maps["@all_calls"]), int(maps["@all_spent"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HarnessError(f"what {TRACER} wrote cannot be read ({error!r})") from error
    # A map that is full takes no more and says nothing.
    if totals != (sum(observed.counts.values()), sum(observed.spent.values())):
        raise HarnessError("there were more kinds of calls than there was room for")
    return observed


def trace_of(label: str, observed: Observed, reports: Sequence[Mapping[str, Any]]) -> Trace:
    """The calls of the workers, by phase. Raises ``HarnessError`` where a phase is not known."""
    workers = [report for report in reports if report["first_poll"] and report["end_of_input"]]
    if not workers:
        raise HarnessError("no worker says when it first polled, and when its input ended")
    lasted_ns = dict.fromkeys(PHASES, 0)
    counts: dict[tuple[str, str], int] = {}
    spent_ns: dict[tuple[str, str], int] = {}
    for worker in workers:
        pid = worker["pid"]
        if pid not in observed.began or pid not in observed.ended:
            raise HarnessError(f"{TRACER} did not see process {pid}, or sees it by another number")
        stretches = [_stretch(worker[end], pid, observed) for end in ("first_poll", "end_of_input")]
        bounds = (observed.began[pid], *(ns for _, ns in stretches), observed.ended[pid])
        for phase, (begin, end) in zip(PHASES, pairwise(bounds), strict=True):
            lasted_ns[phase] += end - begin
        for source, target in ((observed.counts, counts), (observed.spent, spent_ns)):
            for (of_pid, stretch, call), amount in source.items():
                if of_pid == pid:
                    phase = PHASES[sum(stretch >= first for first, _ in stretches)]
                    key = phase, name_of(call)
                    target[key] = target.get(key, 0) + amount
    return Trace(
        label=label,
        lasted_s={phase: ns / len(workers) / 1e9 for phase, ns in lasted_ns.items()},
        calls={
            key: Calls(count=counts[key], cpu_s=spent_ns.get(key, 0) / 1e9)
            for key in sorted(counts, key=lambda key: (PHASES.index(key[0]), key[1]))
        },
    )


def name_of(call: int) -> str:
    """The name of a system call by its number on this machine."""
    try:
        return str(_names.get_name(call))
    except NoSuchSystemCall:
        return f"call {call}"


def _stretch(probe: Mapping[str, Any], pid: int, observed: Observed) -> tuple[int, int]:
    """The number of the stretch that a probe began, and when. Raises ``HarnessError``."""
    at_ns = int(probe["monotonic_ns"])
    since_ns = at_ns - _MARK_BEFORE_NS
    marks = [(ns, n) for (of, n), ns in observed.marks.items() if of == pid]
    near = [(ns, n) for ns, n in marks if since_ns <= ns <= at_ns]
    if not near:
        raise HarnessError(f"a phase of process {pid} began at no system call that was traced")
    began_ns, number = max(near)
    return number, began_ns


def _carry_out(ready: ReadyRun) -> list[dict[str, Any]]:
    """Makes the run; the reports of its probes. Raises ``HarnessError`` if it fails."""
    log = ready.folder / "output"
    with log.open("wb") as output:
        finished = ready.carry_out(ready.command, stdout=output, stderr=output)
    if finished.returncode != 0:
        ended = "time limit" if finished.timed_out else f"exit code {finished.returncode}"
        raise HarnessError(f"the run failed ({ended}): {tail(log, 1)}")
    return [json.loads(path.read_bytes()) for path in sorted(ready.probes.glob("*.json"))]


@contextmanager
def _tracing(ready: ReadyRun) -> Iterator[Path]:
    """Has bpftrace follow what this process starts; the file is complete after the block.

    Raises ``HarnessError`` where it does not begin, or does not end well.
    """
    output, errors = ready.folder / "trace.json", ready.folder / "trace.log"
    limit_s = round(ready.time_limit_s) + _ATTACHES_WITHIN_S + _ENDS_WITHIN_S
    try:
        numbers = (os.getpid(), _names.get("getrusage"), limit_s)
    except NoSuchArchitecture as error:
        raise HarnessError("this processor's system calls are not known by name") from error
    with output.open("wb") as out, errors.open("wb") as log:
        process = subprocess.Popen(
            [TRACER, "-f", "json", str(_PROGRAM_TEXT), *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            # The setting's name, before and since its version 0.20.
            env={
                **os.environ,
                "BPFTRACE_MAP_KEYS_MAX": str(_MOST_KEYS),
                "BPFTRACE_MAX_MAP_KEYS": str(_MOST_KEYS),
            },
            start_new_session=True,
        )
    try:
        _wait_until_attached(process, output, errors)
        yield output
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_S)
        if process.returncode != 0:
            raise HarnessError(
                f"{TRACER} did not end well ({process.returncode}): {tail(errors, 5)}"
            )
    finally:
        kill_group(process.pid)
        process.wait()


def _wait_until_attached(process: subprocess.Popen[bytes], output: Path, errors: Path) -> None:
    """Returns when it says so, which it does only once all its probes are attached."""
    end = time.monotonic() + _ATTACHES_WITHIN_S
    while '"attached"' not in output.read_text("utf-8", "replace"):
        if process.poll() is not None or time.monotonic() > end:
            raise HarnessError(f"{TRACER} did not attach: {tail(errors, 1)}")
        time.sleep(0.02)


def _entries(maps: Mapping[str, Any], name: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """Those of a map, which is not written where it is empty."""
    entries = maps.get(name, {}).items()
    return ((tuple(map(int, key.split(","))), int(value)) for key, value in entries)
