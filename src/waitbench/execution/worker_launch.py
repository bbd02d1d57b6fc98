"""Runs one worker that is a command: waits beside it, wakes it up, and ends it.

Nothing is needed in the worker. While it is judged, this program blocks until a child has ended, or
a half of the window is over: it counts the wake-ups of each half.
"""

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from waitbench.execution.beside import Beside
from waitbench.execution.counted_tree import CountedTree
from waitbench.execution.launch_report import BEGIN, END, EXIT, WAITING, Failure, write_report
from waitbench.system import trees
from waitbench.system.ports import is_listened_to

_LOOK_EVERY_S = 0.02
_CALM_S = 0.3
"""Between two tries of a command that is to exit with 0."""
_TIMES_RUNNING = 3


class Unanswered(Failure):
    """Why what it was woken up with was not done; what came before is measured all the same."""


class WorkerLaunch:
    """One run of one worker."""

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.report = report
        self.plain = plain
        self.tree = tree
        self.copies = [
            Beside(report.parent, plain, tree, number) for number in range(plain["copies"])
        ]
        self.beside = self.copies[0]
        """What is asked and woken up, of several."""

    def run(self) -> int:
        """Returns 0. Raises ``Failure``."""
        for one in self.copies:
            one.folder.mkdir(exist_ok=True)
            for name in self.plain["files"]:
                shutil.copy(name, one.folder)
        started_ns = time.monotonic_ns()
        for one in self.copies:
            self.tree.start(one.command(self.plain["command"]))
        self._wait(self.plain["ready"], "ready")
        ready_ns = time.monotonic_ns()
        self._wait(self.plain["settled"], "settled", calm=_TIMES_RUNNING)
        before = trees.identities(self.tree.processes())
        # Twice: to ask a service is a request to it, too.
        asked, served = self.beside.service_counts(), self.beside.service_counts()
        begin = self.tree.reading()
        if os.environ.get(WAITING):
            Path(os.environ[WAITING]).touch()
        found: dict[str, object] = {}
        if self.plain["window_s"] is None:
            self._until_exit()
        else:
            found["samples"] = self._window(self.plain["window_s"])
        end = self.tree.reading()
        totals = _of_services(asked, served, self.beside.service_counts())
        if self.plain["window_s"] is not None:
            after = trees.identities(self.tree.processes())
            totals["processes_replaced"] = len(after - before)
            memory = trees.proportional_bytes(self.tree.processes())
            totals |= {} if memory is None else {"memory_proportional": memory}
            found |= self._wake_up()
            totals |= self._end("unanswered" in found)
        marks = {BEGIN: begin, END: end, EXIT: self.tree.reading()}
        more = {"ready_ns": ready_ns, "totals": totals, **found}
        write_report(self.report, self.tree, started_ns, marks, **more)
        return 0

    # Starting and ending.

    def _end(self, is_unanswered: bool) -> dict[str, float]:
        """How long it took to end."""
        self._require_alive("before it was told to end")
        told = time.monotonic()
        try:
            self._stop()
        except Failure:
            # Who is too busy to answer may be too busy to end.
            if not is_unanswered:
                raise
            self.tree.kill_all()
            return {}
        return {"time_stop": time.monotonic() - told}

    def _stop(self) -> None:
        """Ends the worker as its file says, and whatever it leaves."""
        number = getattr(signal, f"SIG{self.plain['stop']}")
        self.tree.signal(number, group=self.plain["stop_group"])
        within_s = self.plain["stop_within_s"]
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if not self.tree.reap():
                return
            time.sleep(_LOOK_EVERY_S)
        if len(self.tree.codes) < len(self.copies):
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
        if code := next(filter(None, self.tree.codes), 0):
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
            self._sit(time.monotonic() + condition["seconds"], lambda: f"before it was {what}")
            return
        left = needed = calm if condition["command"] else 1
        end = time.monotonic() + condition["within"]
        while True:
            # First, so that of what has ended all is there to be looked at.
            self.tree.reap()
            holds = self._holds(condition, len(self.copies))
            left = left - 1 if holds else needed
            if left == 0:
                return
            self._require_alive(f"before it was {what}")
            if time.monotonic() > end:
                break
            time.sleep(_CALM_S if condition["command"] else _LOOK_EVERY_S)
        hint = ""
        if condition["log"] is not None:
            hint = f": no line of its output matches {condition['log']!r}"
            hint += ". Does it buffer its output?" if self.beside.is_silent() else ""
        raise Failure(f"it was not {what} within {condition['within']:g} s{hint}")

    def _sit(self, until_s: float, when: Callable[[], str]) -> None:
        """Blocks until then. Raises ``Failure`` if the worker ends meanwhile."""
        while True:
            self.tree.reap()
            self._require_alive(when())
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            self.tree.wait(left_s)

    def _window(self, seconds: float) -> list[Mapping[str, float]]:
        """Blocks for so long; the end and the switches of each half, where they are counted."""
        begun, halves = time.monotonic(), list[Mapping[str, float]]()

        def passed_s() -> float:
            return time.monotonic() - begun

        before = self.tree.counted()["switches"]
        for half in (1, 2):
            self._sit(begun + seconds * half / 2, lambda: f"after {passed_s():.1f} s of its window")
            after = self.tree.counted()["switches"]
            halves.append({"time_s": passed_s(), "wakeups": after - before})
            before = after
        return halves if self.tree.is_counted else []

    def _require_alive(self, when: str) -> None:
        # Copies that end by themselves may do so one after the other.
        enough = len(self.copies) if self.plain["window_s"] is None else 1
        code = next(filter(None, self.tree.codes), 0)
        if not code and len(self.tree.codes) < enough:
            return
        hint = ""
        if len(self.copies) == 1 and code == 0 and self.tree.others():
            hint = "; what it started runs on: have it stay in the foreground"
        raise Failure(f"it ended {_how(code)} {when}{hint}")

    # Asking and waking up.

    def _wake_up(self) -> dict[str, object]:
        """Wakes it up, if its file says how: how late that was done, or why it was not."""
        poke = self.plain["poke"]
        if not poke:
            return {}
        self.beside.forget_output()
        output = self.report.with_name("poke")
        process = self.tree.start_beside(self.beside.command(poke["command"]), output)
        try:
            lateness_ns = self._await_answer(process, output, poke["done"])
        except Unanswered as failure:
            return {"unanswered": str(failure)}
        finally:
            self.tree.end_beside(process, 0.0)
        return {"lateness_ns": [(lateness_ns, 1)], "lateness_max_ns": lateness_ns}

    def _await_answer(self, process: int, output: Path, done: Mapping[str, Any]) -> int:
        """The nanoseconds from when something was sent to when it was done, or as a poke says.

        Raises ``Unanswered``.
        """
        sent_ns, was_sent = time.monotonic_ns(), False
        end = time.monotonic() + done["within"]
        while True:
            now_ns = time.monotonic_ns()
            if not was_sent and output.exists() and b"sent" in output.read_bytes().split():
                sent_ns, was_sent = now_ns, True
            self.tree.reap()
            code = self.tree.ended.get(process)
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
        if self.tree.end_beside(process, 10.0) is None:
            raise Unanswered("the poke did not end")
        told = re.search(rb"^lateness ([0-9.]+)$", output.read_bytes(), re.MULTILINE)
        return int(float(told[1]) * 1e9) if told else max(0, done_ns - sent_ns)

    def _holds(self, condition: Mapping[str, Any], copies: int = 1) -> bool:
        """Whether so many lines are there, ports are listened to, or a command exits with 0."""
        if condition["log"] is not None:
            return self.beside.count_logged(condition["log"]) >= copies
        if condition["port"]:
            started = zip(self.tree.pids[:copies], self.copies, strict=False)
            return all(is_listened_to(int(one.values["port"]), pid) for pid, one in started)
        return self.beside.call(condition["command"], condition["within"])[0] == 0


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
