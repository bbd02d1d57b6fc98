"""Launches one worker that is a command, waits beside it, wakes it up, ends it, and reports.

    python -I worker_launch.py REPORT.json WORKER-AS-JSON

The kernel counts, from outside, everything that the command starts, from before its first
instruction: CPU time, context switches, system calls. Nothing is needed in the worker, and nothing
polls while it is judged: this program blocks until the window is over, or a child has ended.

What goes wrong is left in the file ``failure`` beside the report, and the exit code is 1: that
makes it an outcome.
"""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.system import counters, trees
from waitbench.system.confinement import adopting_orphans

PROBES = "BENCH_PROBE_DIR"
SERVICES = "BENCH_SERVICES"
"""The environment variable that has the services: as JSON, by name, ``port``, ``folder`` and
``counters``, a command that prints them."""
TRACEPOINT = "BENCH_TRACEPOINT"
"""The environment variable that has what system calls are counted by, if they are."""
OUTPUT = ("stdout", "stderr")
"""What the run's output goes to, beside the report."""

FAILURE = "failure"
"""What says why there is no report."""

_CHILD = (signal.SIGCHLD,)
_LOOK_EVERY_S = 0.02
_CALM_S = 0.3
"""Between two tries of a command that is to exit with 0."""
_TIMES_RUNNING = 3


class Failure(Exception):
    """Why this run is not a measurement."""


class Launch:
    """One run of one worker."""

    def __init__(self, report: Path, plain: Mapping[str, Any]) -> None:
        self.report = report
        self.plain = plain
        self.folder = Path(plain["cwd"]) if "cwd" in plain else report.parent / "work"
        self.services: Mapping[str, Any] = json.loads(os.environ.get(SERVICES) or "{}")
        self.values = {
            "folder": str(self.folder),
            "python": plain["python"],
            "here": str(Path(plain["path"]).parent),
            "revision": plain["revision"],
            "port": str(_free_port()),
            **{
                f"{name}.{part}": str(one[part])
                for name, one in self.services.items()
                for part in ("port", "folder")
            },
        }
        self.ended: dict[int, int] = {}
        """The exit codes of what has been waited for, by process."""
        self.pid = 0
        self.events: counters.TreeCounters | None = None
        self.seen_of_log = dict.fromkeys(OUTPUT, 0)

    def run(self) -> None:
        """Raises ``Failure``."""
        self.folder.mkdir(exist_ok=True)
        for name in self.plain["files"]:
            shutil.copy(name, self.folder)
        spawned_ns = time.monotonic_ns()
        self._start()
        begun = time.monotonic()
        self._wait(self.plain["ready"], "ready")
        ready_s = time.monotonic() - begun
        self._wait(self.plain["settled"], "settled", calm=_TIMES_RUNNING)
        before = trees.identities(self.pid)
        # Twice: to ask a service is a request to it, too.
        asked, served, first = self._service_counts(), self._service_counts(), self._reading()
        self._sit(self.plain["window_s"])
        last, served_last = self._reading(), self._service_counts()
        after, memory = trees.identities(self.pid), trees.proportional_bytes(self.pid)
        lateness_ns = self._poke() if self.plain["poke"] else None
        totals = {
            "ready_s": ready_s,
            "memory_bytes": memory,
            "processes_ended": len(before - after),
            "processes_begun": len(after - before),
            **{
                f"service_{key}": max(0.0, served_last[key] - 2 * served[key] + asked[key])
                for key in served_last
            },
        }
        self._stop()
        end = self._reading()
        self._write(spawned_ns, first, last, end, lateness_ns, totals)

    # Starting and ending.

    def _start(self) -> None:
        words, variables = self._words(self.plain["command"]), self._variables()
        program = shutil.which(words[0], path=variables["PATH"])
        if program is None and not (self.folder / words[0]).is_file():
            raise Failure(f"there is no program {words[0]!r} on the PATH of the worker")
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            # Not before it is counted.
            os.close(writing)
            os.read(reading, 1)
            self._become(program or words[0], words, variables)
        os.close(reading)
        events = {"cpu": counters.TASK_CLOCK, "switches": counters.CONTEXT_SWITCHES}
        tracepoint = os.environ.get(TRACEPOINT)
        with suppress(OSError):
            self.events = counters.TreeCounters(events, process=self.pid)
        self.calls = None
        if tracepoint and self.events is not None:
            with suppress(OSError):
                self.calls = counters.TreeCounters(
                    {"system_calls": counters.hits_of(int(tracepoint))}, process=self.pid
                )
        os.write(writing, b"x")
        os.close(writing)

    def _become(self, program: str, words: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
        try:
            os.chdir(self.folder)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.execve(program, list(words), dict(variables))  # noqa: S606
        except OSError as error:
            os.write(2, f"{program} does not start: {error.strerror}\n".encode())
        os._exit(127)

    def _stop(self) -> None:
        """Ends the worker as its file says, and whatever it leaves."""
        number = getattr(signal, f"SIG{self.plain['stop']}")
        self._require_alive("before it was told to end")
        os.kill(self.pid, number)
        within_s = self.plain["stop_within_s"]
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if not self._reap():
                return
            time.sleep(_LOOK_EVERY_S)
        if self.pid not in self.ended:
            raise Failure(
                f"it did not end within {within_s:g} s of SIG{self.plain['stop']}; killed"
            )
        left = self.kill_all()
        plural = "process" if left == 1 else "processes"
        raise Failure(
            f"{left} {plural} of it still ran {within_s:g} s after it was told to end; killed"
        )

    def kill_all(self) -> int:
        """Kills what is left of all that was started; how many these were."""
        killed: set[int] = set()
        end = time.monotonic() + 5
        while self._reap() and time.monotonic() < end:
            left = self._others()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed |= left
            time.sleep(0.005)
        return len(killed)

    # Waiting.

    def _wait(self, condition: Mapping[str, Any], what: str, *, calm: int = 1) -> None:
        """Until a condition holds; a command so many times running. Raises ``Failure``."""
        if condition["seconds"] is not None:
            self._sit(condition["seconds"], before_it=what)
            return
        count = 0

        def holds() -> bool:
            nonlocal count
            if condition["log"] is not None:
                return self._logged(condition["log"]) is not None
            if condition["port"]:
                return _answers(int(self.values["port"]))
            code, _ = self._call(condition["command"], condition["within"])
            count = count + 1 if code == 0 else 0
            if count < calm:
                time.sleep(_CALM_S)
            return count >= calm

        hint = ""
        if condition["log"] is not None:
            hint = f": no line of its output matches {condition['log']!r}"
            hint += ". Does it buffer its output?" if self._is_silent() else ""
        self._until(holds, condition["within"], f"it was not {what} within ", hint, before_it=what)

    def _until(
        self,
        holds: Callable[[], bool],
        within_s: float,
        failure: str,
        hint: str = "",
        *,
        before_it: str = "",
    ) -> None:
        end = time.monotonic() + within_s
        while True:
            if holds():
                return
            self._reap()
            if before_it:
                self._require_alive(f"before it was {before_it}")
            if time.monotonic() > end:
                raise Failure(f"{failure}{within_s:g} s{hint}" if before_it else failure)
            time.sleep(_LOOK_EVERY_S)

    def _sit(self, seconds: float, before_it: str = "") -> None:
        """Blocks for so long. Raises ``Failure`` if the worker ends meanwhile."""
        begun = time.monotonic()
        # Blocked, it is kept for who waits; what has come before is found by a look.
        signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD)
        try:
            while True:
                self._reap()
                passed_s = time.monotonic() - begun
                self._require_alive(
                    f"before it was {before_it}"
                    if before_it
                    else f"after {passed_s:.1f} s of its window"
                )
                if passed_s >= seconds:
                    return
                signal.sigtimedwait(_CHILD, seconds - passed_s)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD)

    def _require_alive(self, when: str) -> None:
        if self.pid not in self.ended:
            return
        code = self.ended[self.pid]
        how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        hint = ""
        if self._others() and code == 0:
            hint = "; what it started runs on: have it stay in the foreground"
        raise Failure(f"it ended {how} {when}{hint}")

    def _others(self) -> set[int]:
        """All that runs of what was started here."""
        return {pid for pid, _ in trees.identities(os.getpid())} - {os.getpid()}

    def _reap(self) -> bool:
        """Waits for what has ended; whether anything is left, adopted or started here."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.ended[pid] = os.waitstatus_to_exitcode(status)

    # Asking and waking up.

    def _poke(self) -> int:
        """Wakes it up; the nanoseconds from when that was sent to when it was done."""
        poke = self.plain["poke"]
        for name in OUTPUT:  # only what is written from now on
            self.seen_of_log[name] = _size(self.report.parent / name)
        begun_ns = time.monotonic_ns()
        process = subprocess.Popen(
            self._words(poke["command"]),
            cwd=self.folder,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        done, sent_ns, said = poke["done"], None, b""
        os.set_blocking(process.stdout.fileno(), False)
        end = time.monotonic() + done["within"]
        code = None
        while True:
            said += process.stdout.read() or b""
            now_ns = time.monotonic_ns()
            if sent_ns is None and b"sent" in said.split():
                sent_ns = now_ns
            self._reap()
            if code is None and process.pid in self.ended:
                code = process.returncode = self.ended[process.pid]
                if code:
                    raise Failure(f"the poke ended with exit code {code}")
            if self._is_done(done, code):
                break
            self._require_alive("before what it was poked with was done")
            if time.monotonic() > end:
                raise Failure(f"what it was poked with was not done within {done['within']:g} s")
            time.sleep(0.001)
        done_ns = time.monotonic_ns()
        if process.pid not in self.ended:
            self._until(lambda: process.pid in self.ended, 10.0, "the poke did not end; killed")
            process.returncode = self.ended[process.pid]
        said += process.stdout.read() or b""
        told = re.search(rb"^lateness ([0-9.]+)$", said, re.MULTILINE)
        if told:
            return int(float(told[1]) * 1e9)
        return max(0, done_ns - (sent_ns or begun_ns))

    def _is_done(self, done: Mapping[str, Any], code: int | None) -> bool:
        if done["exit"]:
            return code == 0
        if done["log"] is not None:
            return self._logged(done["log"]) is not None
        if done["port"]:
            return _answers(int(self.values["port"]))
        return self._call(done["command"], done["within"])[0] == 0

    def _call(self, command: Sequence[str], within_s: float) -> tuple[int, str]:
        """The exit code of a command, and what it printed."""
        process = subprocess.Popen(
            self._words(command),
            cwd=self.folder,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        try:
            said = process.communicate(timeout=within_s)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return 124, ""
        return process.returncode, said

    def _logged(self, pattern: str) -> str | None:
        """The first line of its output that matches, if there is one."""
        found = re.compile(pattern)
        for name in OUTPUT:
            with (self.report.parent / name).open("rb") as file:
                file.seek(self.seen_of_log[name])
                for line in file.read().decode("utf-8", "replace").splitlines():
                    if found.search(line):
                        return line
        return None

    def _is_silent(self) -> bool:
        return all(_size(self.report.parent / name) == 0 for name in OUTPUT)

    def _service_counts(self) -> dict[str, float]:
        """What the services' own commands say, added up by name."""
        total: dict[str, float] = {}
        for name, service in self.services.items():
            total["cpu"] = total.get("cpu", 0.0) + trees.cpu_s(service["pid"])
            if not service["counters"]:
                continue
            code, said = self._call(service["counters"], 10.0)
            if code:
                raise Failure(f"the command that counts for {name} ended with exit code {code}")
            for key, value in _counts(said):
                total[key] = total.get(key, 0.0) + value
        return total

    # Reading and reporting.

    def _reading(self) -> dict[str, Any]:
        now_ns = time.monotonic_ns()
        reading: dict[str, Any] = {"monotonic_ns": now_ns, "system_s": 0.0}
        if self.events is not None:
            counted = self.events.reading()
            reading |= {"user_s": counted["cpu"] / 1e9, "switches_voluntary": counted["switches"]}
        else:
            reading |= {
                "user_s": trees.cpu_s(self.pid),
                "switches_voluntary": trees.switches(self.pid),
            }
        if self.calls is not None:
            reading |= self.calls.reading()
        return reading

    def _write(
        self,
        spawned_ns: int,
        first: Mapping[str, Any],
        last: Mapping[str, Any],
        end: Mapping[str, Any],
        lateness_ns: int | None,
        totals: Mapping[str, float],
    ) -> None:
        nothing = {"user_s": 0.0, "system_s": 0.0}
        worker = {
            "pid": 0,
            "speaks_for_all": True,
            "is_unsplit": True,
            "by_proc": self.events is None,
            "spawned_ns": spawned_ns,
            "loaded": None,
            "first_poll": first,
            "end_of_input": last,
            "exit": end,
            "helpers": nothing,
            "items_in": 0,
            "items_out": 0,
            "polls": None,
            "lateness_ns": [] if lateness_ns is None else [(lateness_ns, 1)],
            "lateness_max_ns": lateness_ns,
            "totals": totals,
        }
        probes = Path(os.environ[PROBES])
        (probes / "worker.json").write_text(json.dumps(worker))
        # All of them together: some were waited for by what started them.
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        launched = {
            "launcher": _usage(os.getpid(), resource.getrusage(resource.RUSAGE_SELF)),
            "children": [_usage(self.pid, used)],
        }
        part = self.report.with_suffix(".part")
        part.write_text(json.dumps(launched))
        part.replace(self.report)

    def _words(self, words: Sequence[str]) -> list[str]:
        return [_filled(word, self.values) for word in words]

    def _variables(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_")}
        given = {
            name: _filled(value, self.values) for name, value in self.plain["environment"].items()
        }
        # A log that sits in a buffer tells nobody that it is ready. The folder names the run to
        # who clears up after a harness that was killed.
        return {**own, "PYTHONUNBUFFERED": "1", "WAITBENCH_RUN": str(self.report.parent), **given}


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z0-9_.-]+)\}", lambda found: values.get(found[1], found[0]), text)


def _counts(said: str) -> Iterator[tuple[str, float]]:
    for line in said.splitlines():
        parts = line.split()
        with suppress(ValueError):
            if len(parts) == 2:
                yield parts[0], float(parts[1])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0):
            return True
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _usage(pid: int, used: resource.struct_rusage) -> dict[str, Any]:
    return {
        "pid": pid,
        "exit_code": 0,
        "user_s": used.ru_utime,
        "system_s": used.ru_stime,
        "rss_bytes": used.ru_maxrss * 1024,
        "switches_voluntary": used.ru_nvcsw,
        "switches_involuntary": used.ru_nivcsw,
    }


def main(arguments: Sequence[str]) -> int:
    """Runs one worker once; returns the exit code."""
    # So that a child's end wakes this up where it waits.
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    with adopting_orphans():
        launch = Launch(Path(arguments[0]), json.loads(arguments[-1]))
        try:
            launch.run()
        except Failure as failure:
            launch.kill_all()
            launch.report.with_name(FAILURE).write_text(str(failure))
            return 1
        except BaseException:
            launch.kill_all()
            raise
    return 0


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    # A teardown comes after the report, so its CPU would be missing from it.
    os._exit(exit_code)
