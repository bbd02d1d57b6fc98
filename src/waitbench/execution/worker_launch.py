"""Launches one worker that is a command, waits beside it, wakes it up, ends it, and reports.

    python -I worker_launch.py REPORT.json WORKER-AS-JSON

The kernel counts, from outside, everything that the command starts, from before its first
instruction: CPU time, context switches, system calls. Nothing is needed in the worker. While it is
judged, this program blocks until a child has ended, or a half of the window is over: it counts the
wake-ups of each half.

What goes wrong is left in the file ``failure`` beside the report, and the exit code is 1: that
makes it an outcome.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.execution.beside import FAILURE, TRACEPOINT, WAITING, Beside, Failure
from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.system import trees
from waitbench.system.confinement import adopting_orphans
from waitbench.system.ports import is_listened_to

PROBES = "BENCH_PROBE_DIR"

_CHILD = (signal.SIGCHLD,)
_LOOK_EVERY_S = 0.02
_CALM_S = 0.3
"""Between two tries of a command that is to exit with 0."""
_TIMES_RUNNING = 3


class Unanswered(Failure):
    """Why what it was woken up with was not done; what came before is measured all the same."""


class Launch:
    """One run of one worker."""

    def __init__(self, report: Path, plain: Mapping[str, Any]) -> None:
        self.report = report
        self.plain = plain
        self.copies = [Beside(report.parent, plain, number) for number in range(plain["copies"])]
        self.beside = self.copies[0]
        """What is asked and woken up, of several."""
        counted = os.environ.get(TRACEPOINT)
        self.tree = CountedTree(int(counted) if counted else None)

    def run(self) -> None:
        """Raises ``Failure``."""
        for one in self.copies:
            one.folder.mkdir(exist_ok=True)
            for name in self.plain["files"]:
                shutil.copy(name, one.folder)
        spawned_ns = time.monotonic_ns()
        self._start()
        self._wait(self.plain["ready"], "ready")
        ready_ns = time.monotonic_ns()
        self._wait(self.plain["settled"], "settled", calm=_TIMES_RUNNING)
        before = trees.identities(self.tree.processes())
        # Twice: to ask a service is a request to it, too.
        asked, served = self.beside.service_counts(), self.beside.service_counts()
        first = self.tree.reading()
        if os.environ.get(WAITING):
            Path(os.environ[WAITING]).touch()
        if self.plain["window_s"] is None:
            self._until_exit()
            last, served_last = self.tree.reading(), self.beside.service_counts()
            totals = {
                "ready_s": (ready_ns - spawned_ns) / 1e9,
                "window_s": (last["monotonic_ns"] - first["monotonic_ns"]) / 1e9,
                "window_cpu_s": last["user_s"] - first["user_s"],
                **_of_services(asked, served, served_last),
            }
            self._write(spawned_ns, ready_ns, first, last, last, None, "", totals, ())
            return
        halves = self._sit(self.plain["window_s"], parts=2)
        last, served_last = self.tree.reading(), self.beside.service_counts()
        after = trees.identities(self.tree.processes())
        memory = trees.proportional_bytes(self.tree.processes())
        lateness_ns, unanswered = None, ""
        try:
            lateness_ns = self._poke() if self.plain["poke"] else None
        except Unanswered as failure:
            unanswered = str(failure)
        totals = {
            "ready_s": (ready_ns - spawned_ns) / 1e9,
            **({} if memory is None else {"memory_bytes": memory}),
            "processes_ended": len(before - after),
            "processes_begun": len(after - before),
            **_of_services(asked, served, served_last),
        }
        self._require_alive("before it was told to end")
        told = time.monotonic()
        try:
            self._stop()
            totals["stop_s"] = time.monotonic() - told
        except Failure:
            # Who is too busy to answer may be too busy to end.
            if not unanswered:
                raise
            self.tree.kill_all()
        end = self.tree.reading()
        self._write(spawned_ns, ready_ns, first, last, end, lateness_ns, unanswered, totals, halves)

    # Starting and ending.

    def _start(self) -> None:
        commands = [self._command(one) for one in self.copies]
        self.tree.start(commands, until_exit=self.plain["window_s"] is None)

    def _command(self, one: Beside) -> Command:
        words, variables = one.words(self.plain["command"]), one.variables()
        program = shutil.which(words[0], path=variables["PATH"])
        if program is None and not (one.folder / words[0]).is_file():
            raise Failure(f"there is no program {words[0]!r} on the PATH of the worker")
        return Command(
            program=program or words[0],
            words=words,
            variables=variables,
            folder=one.folder,
            stop_group=self.plain["stop_group"],
        )

    def _stop(self) -> None:
        """Ends the worker as its file says, and whatever it leaves."""
        number = getattr(signal, f"SIG{self.plain['stop']}")
        self.tree.signal(number)
        within_s = self.plain["stop_within_s"]
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if not self.tree.reap():
                return
            time.sleep(_LOOK_EVERY_S)
        if self.tree.pid not in self.tree.ended:
            raise Failure(
                f"it did not end within {within_s:g} s of SIG{self.plain['stop']}; killed"
            )
        left = self.tree.kill_all()
        plural = "process" if left == 1 else "processes"
        raise Failure(
            f"{left} {plural} of it still ran {within_s:g} s after it was told to end; killed"
        )

    def _until_exit(self) -> None:
        """Blocks until the worker and all that it started have ended. Raises ``Failure``."""
        within_s = self.plain["stop_within_s"]
        left = self.tree.outlast(within_s)
        if code := self.tree.ended[self.tree.pid]:
            raise Failure(f"it ended {_how(code)}")
        if left:
            raise Failure(
                f"{left} of its processes still ran {within_s:g} s after it had ended; killed"
            )

    # Waiting.

    def _wait(self, condition: Mapping[str, Any], what: str, *, calm: int = 1) -> None:
        """Until a condition holds; a command so many times running. Raises ``Failure``."""
        if condition["seconds"] == 0.0:
            return
        if condition["seconds"] is not None:
            self._sit(condition["seconds"], before_it=what)
            return
        count = 0

        def holds() -> bool:
            nonlocal count
            count = count + 1 if self._holds(condition, len(self.copies)) else 0
            if condition["command"] and count < calm:
                time.sleep(_CALM_S)
            return count >= (calm if condition["command"] else 1)

        hint = ""
        if condition["log"] is not None:
            hint = f": no line of its output matches {condition['log']!r}"
            hint += ". Does it buffer its output?" if self.beside.is_silent() else ""
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
            # First, so that of what has ended all is there to be looked at.
            self.tree.reap()
            if holds():
                return
            if before_it:
                self._require_alive(f"before it was {before_it}")
            if time.monotonic() > end:
                raise Failure(f"{failure}{within_s:g} s{hint}" if before_it else failure)
            time.sleep(_LOOK_EVERY_S)

    def _sit(
        self, seconds: float, before_it: str = "", *, parts: int = 0
    ) -> list[Mapping[str, float]]:
        """Blocks for so long. Raises ``Failure`` if the worker ends meanwhile.

        Returns the end and the switches of each of so many equal parts, where they are counted.
        """
        begun = time.monotonic()
        counted = parts if self.tree.events is not None else 0
        each_s = seconds / max(1, counted)
        seen: list[Mapping[str, float]] = []
        count = self.tree.switches() if counted else 0
        # Blocked, it is kept for who waits; what has come before is found by a look.
        signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD)
        try:
            while True:
                self.tree.reap()
                passed_s = time.monotonic() - begun
                self._require_alive(
                    f"before it was {before_it}"
                    if before_it
                    else f"after {passed_s:.1f} s of its window"
                )
                due_s = min(seconds, each_s * (len(seen) + 1))
                if counted and passed_s >= due_s:
                    before, count = count, self.tree.switches()
                    seen.append({"time_s": passed_s, "wakeups": count - before})
                    due_s = min(seconds, each_s * (len(seen) + 1))
                if passed_s >= seconds:
                    return seen
                signal.sigtimedwait(_CHILD, max(0.0, due_s - passed_s))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD)

    def _require_alive(self, when: str) -> None:
        if self.tree.pid not in self.tree.ended:
            return
        code = self.tree.ended[self.tree.pid]
        hint = ""
        if self.tree.others() and code == 0:
            hint = "; what it started runs on: have it stay in the foreground"
        raise Failure(f"it ended {_how(code)} {when}{hint}")

    # Asking and waking up.

    def _poke(self) -> int:
        """Wakes it up; the nanoseconds from when that was sent to when it was done.

        Raises ``Unanswered``.
        """
        self.beside.forget_output()
        process = subprocess.Popen(
            self.beside.words(self.plain["poke"]["command"]),
            cwd=self.beside.folder,
            env=self.beside.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.tree.beside.add(process.pid)
        try:
            return self._await_answer(process)
        finally:
            if process.pid not in self.tree.ended:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _await_answer(self, process: "subprocess.Popen[bytes]") -> int:
        begun_ns = time.monotonic_ns()
        assert process.stdout is not None
        done, sent_ns, said = self.plain["poke"]["done"], None, b""
        os.set_blocking(process.stdout.fileno(), False)
        end = time.monotonic() + done["within"]
        code = None
        while True:
            said += process.stdout.read() or b""
            now_ns = time.monotonic_ns()
            if sent_ns is None and b"sent" in said.split():
                sent_ns = now_ns
            self.tree.reap()
            if code is None and process.pid in self.tree.ended:
                code = process.returncode = self.tree.ended[process.pid]
                if code:
                    raise Unanswered(f"the poke ended with exit code {code}")
            if code == 0 if done["exit"] else self._holds(done):
                break
            self._require_alive("before what it was poked with was done")
            if time.monotonic() > end:
                within = f"{done['within']:g} s"
                raise Unanswered(f"what it was poked with was not done within {within}")
            time.sleep(0.001)
        done_ns = time.monotonic_ns()
        if process.pid not in self.tree.ended:
            try:
                self._until(lambda: process.pid in self.tree.ended, 10.0, "the poke did not end")
            except Failure as failure:
                raise Unanswered(str(failure)) from failure
            process.returncode = self.tree.ended[process.pid]
        said += process.stdout.read() or b""
        told = re.search(rb"^lateness ([0-9.]+)$", said, re.MULTILINE)
        if told:
            return int(float(told[1]) * 1e9)
        return max(0, done_ns - (sent_ns or begun_ns))

    def _holds(self, condition: Mapping[str, Any], copies: int = 1) -> bool:
        """Whether so many lines are there, ports are listened to, or a command exits with 0."""
        if condition["log"] is not None:
            return self.beside.count_logged(condition["log"]) >= copies
        if condition["port"]:
            ports = [int(one.values["port"]) for one in self.copies[:copies]]
            return all(is_listened_to(port, self.tree.pid) for port in ports)
        return self.beside.call(condition["command"], condition["within"])[0] == 0

    # Reading and reporting.

    def _write(
        self,
        spawned_ns: int,
        ready_ns: int,
        first: Mapping[str, Any],
        last: Mapping[str, Any],
        end: Mapping[str, Any],
        lateness_ns: int | None,
        unanswered: str,
        totals: Mapping[str, float],
        halves: Sequence[Mapping[str, float]],
    ) -> None:
        nothing = {"user_s": 0.0, "system_s": 0.0}
        worker = {
            "pid": 0,
            "speaks_for_all": True,
            "by_proc": self.tree.events is None,
            "spawned_ns": spawned_ns,
            "ready_ns": ready_ns,
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
            "unanswered": unanswered,
            "totals": totals,
            "samples": halves,
        }
        probes = Path(os.environ[PROBES])
        (probes / "worker.json").write_text(json.dumps(worker))
        # All of them together: some were waited for by what started them.
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        launched = {
            "launcher": _usage(os.getpid(), resource.getrusage(resource.RUSAGE_SELF)),
            "children": [_usage(self.tree.pid, used)],
            # And without what asked and woke it up.
            "worker": self.tree.usage(),
        }
        part = self.report.with_suffix(".part")
        part.write_text(json.dumps(launched))
        part.replace(self.report)


def _of_services(
    asked: Mapping[str, Mapping[str, float]],
    first: Mapping[str, Mapping[str, float]],
    last: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """What each service did between two readings, less what a reading takes; and all of them."""
    found: dict[str, float] = {}
    for name, counts in last.items():
        for key, count in counts.items():
            rise = max(0.0, count - 2 * first[name].get(key, 0.0) + asked[name].get(key, 0.0))
            found[f"service_{key}"] = found.get(f"service_{key}", 0.0) + rise
            found[f"service_{key}_{name}"] = rise
    return found


def _how(code: int) -> str:
    return f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"


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
            launch.tree.kill_all()
            launch.report.with_name(FAILURE).write_text(str(failure))
            return 1
        except BaseException:
            launch.tree.kill_all()
            raise
    return 0


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    # A teardown comes after the report, so its CPU would be missing from it.
    os._exit(exit_code)
