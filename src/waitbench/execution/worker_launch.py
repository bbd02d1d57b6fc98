"""Runs one worker that is a command: waits beside it, wakes it up, and ends it.

Nothing is needed in the worker. While it is judged, this program blocks until a child has ended, or
the window is over.
"""

import math
import os
import shutil
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waitbench.execution import window
from waitbench.execution.batch import COUNTED, PHASED, SETTLED, WATCHED, Place, Turn
from waitbench.execution.conditions import LOOK_EVERY_S, ConditionLaunch, describe_exit
from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import (
    BEGIN,
    END,
    EXIT,
    LAST,
    LATENESS,
    METRICS,
    OUTPUT,
    STARTED,
    STOPPED,
    TOLD,
    WAITING,
    Failure,
    HasEnded,
    write_report,
)
from waitbench.execution.poke import Poke, Unanswered
from waitbench.execution.service_launch import START, STOP
from waitbench.model.placeholders import filled
from waitbench.system import loaded, trees
from waitbench.system.connections import Connections, Traffic
from waitbench.system.counters import asked
from waitbench.system.ports import free_port

_TIMES_RUNNING = 3
_ACTION_WITHIN_S = 20.0
"""How long a command of a phase may take."""
_MOST_SAID = 200
"""Characters of what a command printed that failed."""
_LEFT_ALONE_S = 1.0
"""How long what a command leaves behind may take to end by itself."""
_LOOKED_AT_EVERY_S = 0.25
"""How often what ends by itself is looked at until it has loaded a module of its package."""


class WorkerLaunch(ConditionLaunch):
    """One run of one worker."""

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.folder = report.parent
        """That of the run."""
        outputs = [self.folder / name for name in OUTPUT]
        super().__init__(tree, outputs, self.folder / "called")
        self.report = report
        self.plain = plain
        self.place = Place(**plain.get("place", {}))
        self.copies = list[dict[str, str]]()
        """What stands in braces, of each copy; the first is what is asked and woken up."""
        self._stopped = set[str]()
        """The services that a phase has stopped."""
        self._connections: Connections | None = None
        """What came to the ports of services that have no counters, where the kernel tells."""
        self._may_end = False
        self._incomplete: dict[str, dict[str, object]] = {}
        """Why the run has no lateness, or no time to end; and the time limit that this exceeds."""
        self._odd: dict[str, object] = {}
        """What else is to be known of the run: see ``execution.accounting``."""
        self._asked = 0
        """The process of the command that tells whether a message is handled."""
        self._begun_s = time.time()
        self._loaded = set[str]()
        """What the worker had loaded when it was looked at."""

    def run(self) -> int:
        """Returns 0. Raises ``Failure``."""
        ends_by_itself = self.plain["window_s"] is None
        with self.place.turn():
            self._make_folders()
            # Twice: to ask a service is a request to it, too. What ends by itself works from its
            # start, so that its services are asked before.
            once, twice = self._ask_twice() if ends_by_itself else ({}, {})
            started_ns, ready_ns = self._start()
        self.wait(self.plain["settled"], "settled", calm=_TIMES_RUNNING)
        waiting = self._mark(STARTED)
        self._meet(SETTLED)
        if self.plain["phases"]:
            # All at once, as it is not timed: no worker has longer than another to calm down.
            self._carry_out_phases()
            waiting = self._mark(STARTED)
        self._meet(PHASED)
        if not ends_by_itself:
            once, twice = self._ask_twice()
        memory = None if ends_by_itself else trees.memory(self.tree.processes())
        self._meet(COUNTED)
        before, begin = _Lives(self.tree), self.tree.reading()
        is_asked_again = ends_by_itself and self.plain["ready"]["seconds"] != 0.0
        first = self._service_counts() if is_asked_again else twice
        if os.environ.get(WAITING):
            Path(os.environ[WAITING]).touch()
        if ends_by_itself:
            self._until_exit()
        else:
            found_s = self._window(self.plain["window_s"])
        end, after = self.tree.reading(), _Lives(self.tree)
        totals = _of_services(once, twice, first, self._service_counts())
        if not ends_by_itself:
            totals["processes_replaced"] = after.begun_since(before)
            totals |= _of_memory(memory, trees.memory(self.tree.processes()))
            totals |= {} if self.plain["window_s"] else {"time_window": found_s}
            self._look()
            # What ends takes its share of the memory of others with it.
            self._meet(WATCHED)
        with self.place.turn() as turn:
            waiting |= self._mark(TOLD)
            if not ends_by_itself:
                if self.plain.get("wakes_up", True) and not self._stopped:
                    self._wake_up_at_last(turn)
                turn.take()
                waiting[LAST] = self.tree.reading()
                totals |= self._end(turn)
            marks = {BEGIN: begin, END: end, EXIT: self.tree.reading(), **waiting}
        more = {"ready_ns": ready_ns, "totals": totals, "waited_s": self.place.waited_s}
        more |= {"incomplete": self._incomplete, "loaded": sorted(self._loaded), **self._odd}
        write_report(self.report, self.tree, started_ns, marks, **more)
        return 0

    def _mark(self, name: str) -> dict[str, Mapping[str, Any]]:
        """A reading by its name, in a batch: what is used while it waits for others is apart."""
        return {name: self.tree.reading()} if self.place.folder else {}

    def _meet(self, where: str) -> None:
        self.place.meet(where, lambda: self.sit(0.0, lambda: "while it waited for other runs"))

    # Starting and ending.

    def _make_folders(self) -> None:
        """Makes the folder of each copy, with the files of the worker."""
        # Not before: runs of a batch whose servers listen are not given the ports of these.
        self.copies += [self._values(number) for number in range(self.plain["copies"])]
        for values in self.copies:
            Path(values["folder"]).mkdir(exist_ok=True)
            for name in self.plain["files"]:
                shutil.copy(name, values["folder"])

    def _start(self) -> tuple[int, int]:
        """Starts it; the nanoseconds when, and when it was ready. Raises ``Failure``."""
        started_ns = time.monotonic_ns()
        for copy in range(len(self.copies)):
            self.tree.start(self.command(self.plain["command"], copy))
        self.wait(self.plain["ready"], "ready")
        return started_ns, time.monotonic_ns()

    def _values(self, copy: int) -> dict[str, str]:
        """What stands in braces, of one of several copies, which have folders of their own."""
        return {
            **self.plain["values"],
            "folder": str(self.folder / (f"work-{copy}" if copy else "work")),
            "port": str(free_port()),
            "metrics": str(self.folder / f"{METRICS}-{copy}.jsonl"),
            **{
                f"{name}.{part}": str(service[part])
                for name, service in self.plain["running"].items()
                for part in ("port", "folder")
            },
        }

    def listeners(self) -> Sequence[tuple[int, int]]:
        ports = (int(values["port"]) for values in self.copies)
        return list(zip(self.tree.pids, ports, strict=False))

    def command(self, words: Sequence[str], copy: int = 0) -> Command:
        values = self.copies[copy]
        words, folder = filled(words, values), Path(values["folder"])
        own = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_")}
        texts = self.plain["environment"]
        given = zip(texts, filled(list(texts.values()), values), strict=True)
        # A log that sits in a buffer tells nobody that it is ready.
        own |= {"PYTHONUNBUFFERED": "1", **dict(given)}
        program = shutil.which(words[0], path=own.get("PATH"))
        if program is None and not (folder / words[0]).is_file():
            raise Failure(f"there is no program {words[0]!r} on the PATH of the worker")
        return Command(program or words[0], words, own, folder)

    def _end(self, turn: Turn) -> dict[str, float]:
        """Ends it; how long that took, if it did end. Raises ``HasEnded``."""
        within_s, signal_name = self.plain["stop_within_s"], f"SIG{self.plain['stop']}"
        told = time.monotonic()
        try:
            self.require_alive("before its signal to end")
        except HasEnded:
            raise
        except Failure as failure:
            self.tree.kill_all()
            self._lack(STOPPED, failure)
            return {}
        if not self._stop(turn, getattr(signal, signal_name)):
            return {"time_stop": time.monotonic() - told}
        is_left = len(self.tree.codes) == len(self.copies)
        left = self.tree.kill_all()
        what = f"{left} still ran" if is_left else "it did not end"
        self._lack(STOPPED, f"{what} within {within_s:g} s of {signal_name}; killed", within_s)
        return {}

    def _stop(self, turn: Turn, number: int) -> bool:
        """Tells it to end, and what its commands leave behind; whether anything is left."""
        self.tree.signal(number)
        told = ended = time.monotonic()
        while self.tree.reap():
            now = time.monotonic()
            if now - told > self.plain["stop_within_s"]:
                return True
            if len(self.tree.codes) < len(self.copies):
                ended = now
            elif "left" not in self._odd and now - ended > _LEFT_ALONE_S:
                self._odd["left"] = self.tree.names()
                self.tree.signal(number, *self.tree.others())
            if now - told > self.place.ends_alone_s:
                turn.hand_over()
            time.sleep(LOOK_EVERY_S)
        return False

    def _lack(self, what: str, why: object, more_than: float | None = None) -> None:
        """Has the run lack a figure; what else it has measured counts all the same."""
        limit = {} if more_than is None else {"more_than": more_than}
        self._incomplete[what] = {"why": str(why), **limit}

    def _until_exit(self) -> None:
        """Blocks until the worker and all that it started have ended. Raises ``Failure``."""
        within_s = self.plain["stop_within_s"]
        while self.plain.get("modules") is not None and not self._loaded and self.tree.reap():
            self.tree.wait(_LOOKED_AT_EVERY_S)
            self._look()
        left = self.tree.outlast(within_s)
        if code := next(filter(None, self.tree.codes), 0):
            raise Failure(f"it ended {describe_exit(code)}")
        if left:
            raise Failure(f"{left} still ran {within_s:g} s after it had ended; killed")

    def _look(self) -> None:
        """Notes what the worker has loaded, in a run that is to tell that.

        That costs CPU, if none of the worker's: it is done when the window is over, where that does
        not end with the worker.
        """
        names = self.plain.get("modules")
        if names is not None:
            those = self.tree.processes()
            files = () if names else loaded.files(those, self.folder, self._begun_s)
            self._loaded |= {*files, *loaded.modules(those, names)}

    # Phases.

    def _carry_out_phases(self) -> None:
        """Whatever comes before the window, and what settles it each time. Raises ``Failure``."""
        for phase in self.plain["phases"]:
            self._may_end = phase["may_end"]
            self._act(phase, f"in its phase {phase['name']}")
            settled = self.plain["settled"]
            if phase["seconds"] is not None:
                settled = {**settled, "seconds": phase["seconds"]}
            self.wait(settled, f"settled in its phase {phase['name']}", calm=_TIMES_RUNNING)

    def _act(self, phase: Mapping[str, Any], when: str) -> None:
        """What a phase begins with."""
        if phase["poke"]:
            try:
                self._wake_up()
            except Unanswered as failure:
                self._lack(LATENESS, f"{failure}, {when}", self.plain["poke"]["done"]["within"])
            except HasEnded:
                raise
            except Failure as failure:
                raise Failure(f"{failure}, {when}") from failure
            return
        if phase["run"]:
            code, said = self.call(phase["run"], _ACTION_WITHIN_S)
            if code != 0:
                how = "took too long" if code is None else f"ended {describe_exit(code)}"
                raise Failure(f"the command {when} {how}: {said.strip()[-_MOST_SAID:]}")
            return
        name = phase["stop"] or phase["start"]
        service = self.plain["running"][name]
        os.kill(service["launcher"], START if phase["start"] else STOP)
        try:
            while asked(service["up"]) != (phase["start"] is not None):
                time.sleep(LOOK_EVERY_S)
        except OSError as error:
            raise Failure(f"the service {name} ended {when}") from error
        self._stopped ^= {name}

    # Waiting.

    def _window(self, seconds: float) -> float:
        """Blocks for so long; without any seconds, until it is found how long a gate watches it."""
        begun, readings = time.monotonic(), list[window.Reading]()

        def watch(until_s: float) -> None:
            self.sit(until_s, lambda: f"after {time.monotonic() - begun:.1f} s of its window")

        if seconds:
            watch(begun + seconds)
        while not seconds:
            watch(begun + len(readings) * window.EVERY_S)
            reading = self.tree.reading()
            readings.append((reading["wakeups"], reading["cpu_s"]))
            seconds = window.found_in(readings) or 0.0
        return seconds

    def require_alive(self, when: str) -> None:
        # Copies that end by themselves may do so one after the other.
        enough = len(self.copies) if self.plain["window_s"] is None else 1
        code = next(filter(None, self.tree.codes), 0)
        if not code and len(self.tree.codes) < enough:
            return
        hint = ""
        if len(self.copies) == 1 and code == 0 and self.tree.others():
            hint = "; its processes go on: keep it in the foreground"
        kind = HasEnded if self._may_end else Failure
        raise kind(f"it ended {describe_exit(code)} {when}{hint}")

    # Asking and waking up.

    def _wake_up_at_last(self, turn: Turn) -> None:
        """Wakes it up after the window, if its file says how, and it has answered so far."""
        if not self.plain["poke"] or LATENESS in self._incomplete:
            return
        try:
            late_ns = self._wake_up(turn)
            self._odd |= {"lateness_ns": [(late_ns, 1)], "lateness_max_ns": late_ns}
        except HasEnded:
            raise
        except Failure as failure:
            # A worker that has ended has not answered either.
            is_late = isinstance(failure, Unanswered) or self.tree.codes
            within_s = self.plain["poke"]["done"]["within"] if is_late else None
            self._lack(LATENESS, failure, within_s)

    def _wake_up(self, turn: Turn | None = None) -> int:
        """Wakes it up: how many nanoseconds late that is handled. Raises ``Failure``."""
        self.seen = self.sizes()
        words, done = self.plain["poke"]["command"], self.plain["poke"]["done"]
        end = time.monotonic() + done["within"]
        poke = Poke(self.tree, self.command(words), self.report.with_name("poke"))
        try:
            poke.look()
            while not self._is_done(done, poke):
                self.require_alive("before it had handled its poke")
                if time.monotonic() > end:
                    within = f"{done['within']:g} s{self.hint(done)}"
                    raise Unanswered(f"it did not handle its poke within {within}")
                if turn and poke.waits_s > self.place.ends_alone_s:
                    turn.hand_over()
                time.sleep(0.001)
                poke.look()
            return poke.lateness_ns(time.monotonic_ns())
        except Failure as failure:
            raise type(failure)(f"{failure}{poke.last_words()}") from failure
        finally:
            self._odd |= {"sent_at_end": True} if poke.is_sent_at_end else {}
            poke.end()
            if self._asked:
                self.tree.end_beside(self._asked, 0.0)
                self._asked = 0

    def _is_done(self, done: Mapping[str, Any], poke: Poke) -> bool:
        """Whether a message is handled. A command tells beside this, which has to see it sent."""
        if done["exit"]:
            return poke.has_ended
        if not done["command"]:
            return self.holds(done)
        if not self._asked:
            self._asked = self.tree.start_beside(self.command(done["command"]), self.called)
        code = self.tree.ended.get(self._asked)
        self._asked = self._asked if code is None else 0
        return code == 0

    def _ask_twice(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        running = (it for name, it in self.plain["running"].items() if name not in self._stopped)
        if ports := [service["port"] for service in running if not service["counters"]]:
            with suppress(OSError):
                self._connections = Connections(ports)
        # What came between two readings of the kernel's is no request of ours.
        traffic = self._traffic()
        return self._service_counts(traffic), self._service_counts(traffic)

    def _traffic(self) -> Mapping[int, Traffic]:
        """What has come to each port; nothing where the kernel does not tell all of it."""
        with suppress(OSError):
            return self._connections.reading() if self._connections else {}
        return {}

    def _service_counts(self, traffic: Mapping[int, Traffic] | None = None) -> Mapping[str, float]:
        """What all services have used so far, and what those that run were asked.

        Their own commands tell that, or else the kernel; what one does not tell is unknown of all.
        """
        traffic = self._traffic() if traffic is None else traffic
        cpu_s, counts = 0.0, list[Mapping[str, float]]()
        for name, service in self.plain["running"].items():
            try:
                cpu_s += asked(service["cpu"]) / 1e9
            except OSError as error:
                raise Failure(f"the service {name} ended during the run") from error
            if name in self._stopped:
                continue
            came = traffic.get(service["port"])
            if service["counters"]:
                counts.append(self._own_counts(name, service["counters"]))
            else:
                counts.append({"requests": came.segments, "bytes": came.bytes} if came else {})
        keys = set[str]().union(*counts).intersection(*counts)
        return {"cpu_idle": cpu_s, **{key: sum(one[key] for one in counts) for key in keys}}

    def _own_counts(self, name: str, command: Sequence[str]) -> Mapping[str, float]:
        """What a service's own command says. Raises ``Failure``."""
        code, said = self.call(command, 10.0)
        if code != 0:
            how = "took too long" if code is None else f"ended with exit code {code}"
            raise Failure(f"the command that counts for {name} {how}")
        counts = defaultdict[str, float](float)
        for key, value in _counts(said):
            # The rise from such a value would be 0, or none.
            if not math.isfinite(value):
                raise Failure(f"the command that counts for {name} printed '{key} {value}'")
            counts[key] += value
        return counts


def _of_services(
    once: Mapping[str, float],
    twice: Mapping[str, float],
    first: Mapping[str, float],
    last: Mapping[str, float],
) -> dict[str, float]:
    """What all services did between the first and the last reading, less what one of them takes.

    That is how much the second of two readings adds to the one right before it.
    """
    return {
        f"service_{key}": max(
            0.0, count - first.get(key, 0.0) - twice.get(key, 0.0) + once.get(key, 0.0)
        )
        for key, count in last.items()
    }


class _Lives:
    """Which processes of a tree live, and how many have ended so far, as far as that is known."""

    def __init__(self, tree: CountedTree) -> None:
        processes = tree.processes()
        self.alive = trees.identities(processes)
        self.waited_here = len(tree.ended)
        self.faults = trees.faults_of_ended(processes)

    def begun_since(self, before: "_Lives") -> int:
        """How many began, at the least: of children that their parent has waited for, one."""
        parents = sum(rise > before.faults.get(pid, rise) for pid, rise in self.faults.items())
        ended = parents + self.waited_here - before.waited_here
        return max(ended, len(self.alive - before.alive))


def _of_memory(begin: trees.Memory | None, end: trees.Memory | None) -> dict[str, float]:
    """The memory at the end of the window, and by how much it grew a minute."""
    if begin is None or end is None:
        return {}
    grown = max(0, end.allocated - begin.allocated)
    return {
        "memory_proportional": end.proportional,
        "memory_growth": 60 * grown / (end.read_at_s - begin.read_at_s),
    }


def _counts(said: str) -> Iterator[tuple[str, float]]:
    for line in said.splitlines():
        parts = line.split()
        with suppress(ValueError):
            if len(parts) == 2:
                yield parts[0], float(parts[1])
