"""Runs one worker of a worker file: starts it, waits for its window, pokes it, and ends it.

During the window this program blocks until a child has ended or the time is over, so that it adds
no CPU.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from waitbench.execution.batch import (
    ACTIONS_DONE,
    LAUNCHED,
    OBSERVED,
    PREPARED,
    SETTLED,
    BatchMember,
)
from waitbench.execution.conditions import ConditionLaunch, describe_exit
from waitbench.execution.counted_tree import Command, CountedTree, ProcessCensus
from waitbench.execution.launch_report import (
    LOST_CHILDREN,
    METRICS,
    OUTPUT,
    WAITING,
    Failure,
    HasEnded,
    read_output,
    write_report,
)
from waitbench.execution.poke import Message
from waitbench.execution.service_readings import ServiceReadings
from waitbench.model.launch import Action, LaunchConfig, WorkerConfig, filled
from waitbench.system import loaded, proc
from waitbench.system.tcp import free_port, reset

_SETTLED_COUNT = 3
"""The tests in a row that must hold before a worker counts as settled."""
_POLL_INTERVAL_S = 0.02
_ACTION_WITHIN_S = 20.0
_MAX_MESSAGE_CHARS = 200
_ORPHANS_END_WITHIN_S = 1.0
_IDENTIFY_INTERVAL_S = 0.25
"""The time between two readings of the modules of a worker that ends by itself."""


class WorkerLaunch(ConditionLaunch):
    """One run of one worker."""

    def __init__(
        self, report: Path, worker: WorkerConfig, config: LaunchConfig, tree: CountedTree
    ) -> None:
        self.folder = report.parent
        outputs = [self.folder / name for name in OUTPUT]
        super().__init__(tree, outputs, self.folder / "command-output")
        self.report = report
        self.worker = worker
        self.config = config
        self._ends_by_itself = worker.window_s is None
        self.batch = BatchMember(config.slot)
        self.copies = list[WorkerConfig]()
        """The configuration of each copy; conditions, pokes and actions are those of the first."""
        self._stdins = list[int]()
        self.services = ServiceReadings(config.services, self.run_command)
        self._is_measured = False
        """Whether the window has begun."""
        self._may_end = self._must_end = False
        """Whether the worker may, or must, end in the current phase."""
        self._incomplete: dict[str, dict[str, object]] = {}
        """Figures that the run lacks: why, and the time limit that the figure exceeds, if known."""
        self._facts: dict[str, object] = {}
        """Further facts for the report: see ``execution.accounting``."""
        self._message: Message | None = None
        """The message that the worker has not handled yet."""
        self._check = 0
        """Process of the command that tests whether it has; 0 if none runs."""
        self._begun_s = time.time()
        self._loaded = set[str]()

    def run(self) -> int:
        self._wait_at(LAUNCHED)
        has_services = bool(self.config.services)
        start_lane, poke_lane, end_lane = self.batch.lanes(has_services=has_services)
        self.batch.take_turn(start_lane, self.config.slot.startup_turn_s)
        self._make_folders()
        if self._ends_by_itself:
            # Its work begins at once.
            self.services.begin()
        started_ns, ready_ns = self._start()
        self.batch.hand_over_turn()
        self.wait(self.worker.settled, "settled", times_in_a_row=_SETTLED_COUNT)
        wait_marks = self._mark("started")
        self._wait_at(SETTLED)
        # Phases of all runs are concurrent: nothing is timed, and all settle for as long.
        wait_marks |= self._mark("acting")
        self._carry_out_actions()
        wait_marks |= self._mark("acted")
        self._wait_at(ACTIONS_DONE)
        marks, totals = self._measure_window()
        self.batch.take_turn(poke_lane)
        wait_marks |= self._mark("ending")
        if self._outlives_window:
            if self.config.pokes and not self.services.stopped and not self.worker.rate:
                self._poke_after_window()
            wait_marks |= self._mark("poked")
            self.batch.take_turn(end_lane, self.config.slot.shutdown_turn_s)
            wait_marks["last"] = self.tree.reading()
            totals |= self._end()
        marks |= {"exit": self.tree.reading(), **wait_marks}
        self.batch.hand_over_turn()
        self._facts |= {"ready_ns": ready_ns, "totals": totals, "waited_s": self.batch.waited_s}
        self._facts |= {"incomplete": self._incomplete, "loaded": sorted(self._loaded)}
        write_report(self.report, self.tree, started_ns, marks, **self._facts)
        return 0

    def _measure_window(self) -> tuple[dict[str, Mapping[str, Any]], dict[str, float]]:
        """Blocks for the window; returns its readings by mark, and its metrics by key."""
        memory = proc.memory(self.tree.processes()) if self._outlives_window else None
        if self._ending_action:
            self._record_loaded()
        if not self._ends_by_itself:
            self.services.begin()
        self._wait_at(PREPARED)
        self._is_measured = True
        before, begin = ProcessCensus(self.tree), self.tree.reading()
        if self._ends_by_itself and self.worker.ready.seconds != 0.0:
            self.services.begin_again()
        if os.environ.get(WAITING):
            Path(os.environ[WAITING]).touch()
        window_s = self.worker.window_s or 0.0
        totals = dict[str, float]()
        if self._ends_by_itself:
            self._until_exit()
        elif self._ending_action:
            totals |= self._end_by(self._ending_action, window_s)
        else:
            window_s = self._window(window_s)
        end, after = self.tree.reading(), ProcessCensus(self.tree)
        totals |= self.services.rises()
        if "service_cpu_idle" not in totals:
            self._record_missing("service_cpu_idle", LOST_CHILDREN)
        if self._outlives_window:
            totals["processes_replaced"] = after.begun_since(before)
            totals |= _memory_totals(memory, proc.memory(self.tree.processes()))
            if window_s != self.worker.window_s:
                totals["time_window"] = window_s
            self._record_loaded()
            # No worker ends before all have read their memory: that changes the pages of others.
            self._wait_at(OBSERVED)
        return {"begin": begin, "end": end}, totals

    @property
    def _ending_action(self) -> Action | None:
        """The action by which the worker must end within the window."""
        return next((action for action in self.worker.actions if action.must_end), None)

    @property
    def _outlives_window(self) -> bool:
        """Whether the worker outlives its window, unless it fails."""
        return not (self._ends_by_itself or self._ending_action)

    def _mark(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Reads counters at a mark of concurrent runs; returns nothing for a run by itself."""
        return {name: self.tree.reading()} if self.config.slot.folder else {}

    def _wait_at(self, barrier: str) -> None:
        when = "while it waited for other runs"
        self.batch.wait_at(barrier, lambda: self.wait_until(0.0, lambda: when))

    # Starting and ending.

    def _make_folders(self) -> None:
        self.copies += [self._copy(number) for number in range(self.worker.copies)]
        self.worker = self.copies[0]
        for copy in self.copies:
            Path(copy.site.folder).mkdir(exist_ok=True)
            for name in copy.files:
                shutil.copy(name, copy.site.folder)

    def _start(self) -> tuple[int, int]:
        """Starts the worker. Returns the times, in ns, of its start and of its readiness."""
        started_ns = time.monotonic_ns()
        for copy in self.copies:
            # The launcher keeps the writing end open.
            stdin, writing = os.pipe() if copy.has_stdin else (None, None)
            self.tree.start(self.command(copy.command, copy), stdin)
            if stdin is not None and writing is not None:
                os.close(stdin)
                self._stdins.append(writing)
            if copy.goes_to_background:
                self._await_background()
        self.wait(self.worker.ready, "ready")
        return started_ns, time.monotonic_ns()

    def _await_background(self) -> None:
        """Waits until the command has ended; the processes that it leaves are the worker."""
        pid, within_s = self.tree.pids[-1], self.worker.ready.within
        code = self.tree.end_uncounted(pid, within_s)
        if code is None:
            raise Failure(f"its command did not go to the background within {within_s:g} s")
        if code:
            raise Failure(f"its command ended {describe_exit(code)}")
        if not self.tree.replace_with_orphans(pid):
            raise Failure("its command left no process in the background")

    def _copy(self, number: int) -> WorkerConfig:
        """Makes the configuration of a copy, with its placeholders filled in."""
        site = self.worker.site._replace(
            folder=str(self.folder / (f"work-{number}" if number else "work")),
            port=free_port(self.config.slot.number, self.config.slot.size),
            metrics=str(self.folder / f"{METRICS}-{number}.jsonl"),
        )
        services = self.config.services.items()
        values = {
            **self.worker.values,
            **site.values(),
            **{f"{name}.port": str(it.port) for name, it in services},
            **{f"{name}.folder": it.folder for name, it in services},
        }
        copy: WorkerConfig = filled(self.worker._replace(site=site, files=()), values)
        return copy._replace(files=self.worker.files)

    def listeners(self) -> Sequence[tuple[int, int]]:
        return list(zip(self.tree.pids, (copy.site.port for copy in self.copies), strict=False))

    def command(self, words: Sequence[str], copy: WorkerConfig | None = None) -> Command:
        copy = copy or self.worker
        folder = Path(copy.site.folder)
        variables = {k: value for k, value in os.environ.items() if not k.startswith("BENCH_")}
        # A buffered log would not show that it is ready.
        variables["PYTHONUNBUFFERED"] = "1"
        variables |= copy.environment
        program = shutil.which(words[0], path=variables.get("PATH"))
        if program is None and not (folder / words[0]).is_file():
            raise Failure(f"there is no program {words[0]!r} on the PATH of the worker")
        return Command(program or words[0], words, variables, folder)

    def _end(self) -> dict[str, float]:
        """Ends the worker. Returns the time that took, by key of metric; empty if it was killed.

        Raises ``HasEnded``.
        """
        within_s, signal_name = self.worker.stop_within_s, f"SIG{self.worker.stop}"
        number = getattr(signal, signal_name)
        try:
            self.require_alive("before its signal to end")
        except Failure as failure:
            self.tree.kill_all()
            self._record_missing("time_stop", failure)
            return {}
        begun = ended = time.monotonic()
        self.tree.signal(number)
        while self.tree.reap():
            now = time.monotonic()
            if now - begun > within_s:
                have_copies_ended = len(self.tree.codes) == len(self.copies)
                left = self.tree.kill_all()
                what = f"{left} still ran" if have_copies_ended else "it did not end"
                why = f"{what} within {within_s:g} s of {signal_name}; killed"
                self._record_missing("time_stop", why, within_s)
                return {}
            if len(self.tree.codes) < len(self.copies):
                ended = now
            elif "left" not in self._facts and now - ended > _ORPHANS_END_WITHIN_S:
                self._facts["left"] = self.tree.names()
                self.tree.signal(number, *self.tree.running())
            time.sleep(_POLL_INTERVAL_S)
        return {"time_stop": time.monotonic() - begun}

    def _record_missing(self, figure: str, why: object, more_than: float | None = None) -> None:
        limit = {} if more_than is None else {"more_than": more_than}
        self._incomplete[figure] = {"why": str(why), **limit}

    def _until_exit(self) -> None:
        """Waits until the worker has ended by itself. Raises ``Failure`` if processes are left."""
        within_s = self.worker.stop_within_s
        identifies = self.config.modules is not None
        while identifies and not self._loaded and self.tree.reap() and not self._have_ended:
            self.tree.wait(_IDENTIFY_INTERVAL_S)
            self._record_loaded()
        left = self.tree.outlast(within_s)
        if code := next(filter(None, self.tree.codes), 0):
            raise Failure(f"it ended {describe_exit(code)}")
        if left:
            raise Failure(f"{left} still ran {within_s:g} s after it had ended; killed")

    def _record_loaded(self) -> None:
        names = self.config.modules
        if names is not None:
            # This takes CPU, so it comes after the window, or before a window that ends the worker.
            processes = self.tree.processes()
            self._loaded |= (
                loaded.modules(processes, names)
                if names
                else loaded.files(processes, self.folder, self._begun_s)
            )

    # Actions.

    def _carry_out_actions(self) -> None:
        for action in self.worker.actions:
            if action.must_end:
                return
            self._may_end = action.may_end
            where = f"in its phase {action.phase}"
            self._act(action, where)
            self.wait(action.settled, f"settled {where}", times_in_a_row=_SETTLED_COUNT)

    def _act(self, action: Action, when: str) -> None:
        """Carries out an action. Raises ``Failure``, whose message ``when`` ends."""
        if action.kind == "poke":
            self._poke(f", {when}")
        elif action.kind == "run":
            code, output = self.run_command(action.command, _ACTION_WITHIN_S)
            if code != 0:
                how = "took too long" if code is None else f"ended {describe_exit(code)}"
                raise Failure(f"the command {when} {how}: {output.strip()[-_MAX_MESSAGE_CHARS:]}")
        elif action.kind == "close":
            while self._stdins:
                os.close(self._stdins.pop())
        elif action.kind == "reset":
            try:
                reset(self.worker.site.port, action.message.encode())
            except OSError as error:
                raise Failure(f"its port takes no client {when}: {error.strerror}") from error
        else:
            try:
                self.services.order(action.service, action.kind)
            except OSError as error:
                raise Failure(f"the service {action.service} ended {when}") from error

    def _end_by(self, action: Action, within_s: float) -> dict[str, float]:
        """Carries out an action by which the worker must end, and blocks for the whole window.

        Returns the time to end, by key of metric; empty if the worker did not end.
        """
        begun = time.monotonic()
        self._must_end = True
        self._act(action, f"in its phase {action.phase}")
        while self.tree.reap() and time.monotonic() < begun + within_s:
            self.tree.wait(max(0.0, begun + within_s - time.monotonic()))
        if left := self.tree.kill_all():
            why = f"{left} still ran {within_s:g} s after its phase {action.phase} began; killed"
            self._record_missing("time_stop", why, within_s)
            return {}
        ended = time.monotonic()
        # The window is as long for a worker that ends early.
        time.sleep(max(0.0, begun + within_s - ended))
        return {"time_stop": ended - begun}

    # Waiting.

    def _window(self, seconds: float) -> float:
        """Blocks for the window and returns its length in s."""
        begun = time.monotonic()

        def when() -> str:
            return f"after {time.monotonic() - begun:.1f} s of its window"

        if self.worker.rate:
            seconds = max(seconds, self._send_messages(seconds, when))
        self.wait_until(begun + seconds, when)
        return seconds

    @property
    def _have_ended(self) -> bool:
        """Whether one copy has ended; if they end by themselves, whether one failed or all have."""
        # Copies that end by themselves may do so one after the other.
        enough = len(self.copies) if self._ends_by_itself else 1
        return any(self.tree.codes) or len(self.tree.codes) >= enough

    def require_alive(self, when: str) -> None:
        if self._must_end or not self._have_ended:
            return
        is_background = self.worker.goes_to_background
        may_fork_again = is_background and not (self._is_measured or any(self.tree.codes))
        if may_fork_again and self.tree.hand_over(len(self.copies)):
            return
        code, hint = next(filter(None, self.tree.codes), 0), ""
        if len(self.copies) == 1 and code == 0 and self.tree.running() and not is_background:
            hint = "; its processes go on: keep it in the foreground, or set background"
        kind = HasEnded if self._may_end else Failure
        raise kind(f"it ended {describe_exit(code)} {when}{hint}")

    # Poking.

    def _poke_after_window(self) -> None:
        """Pokes the worker if its file says how, unless an earlier poke went unanswered."""
        done = self.worker.done
        if done is None or "lateness" in self._incomplete:
            return
        try:
            late_ns = self._poke()
        except Failure as failure:
            # A worker that has ended has no lateness below the time limit either.
            within_s = done.within if self.tree.codes else None
            self._record_missing("lateness", failure, within_s)
            return
        if late_ns is not None:
            self._facts |= {"lateness_ns": [(late_ns, 1)], "lateness_max_ns": late_ns}

    def _send_messages(self, seconds: float, when: Callable[[], str]) -> float:
        """Sends the messages that are due in a window; returns the time that took, in s.

        Each is sent after the one before was handled, so that all runs handle as many.
        """
        begun, lateness_ns = time.monotonic(), list[int]()
        for number in range(max(1, int(seconds * self.worker.rate))):
            self.wait_until(begun + number / self.worker.rate, when)
            try:
                late_ns = self._poke()
            except Failure as failure:
                self._record_missing("lateness", failure)
                continue
            if late_ns is None:
                break
            lateness_ns.append(late_ns)
        if "lateness" not in self._incomplete:
            self._facts["lateness_ns"] = [(it, 1) for it in lateness_ns]
            self._facts["lateness_max_ns"] = max(lateness_ns)
        return time.monotonic() - begun

    def _poke(self, when: str = "") -> int | None:
        """Sends a message and waits until it is handled. Returns its lateness in ns.

        Returns ``None``, and records the lateness as missing, after the time limit. ``when`` ends
        messages. Raises ``Failure``.
        """
        done = self.worker.done
        assert done is not None, "the worker file has a poke"
        self.match_from_now()
        end = time.monotonic() + done.within
        message = Message(self.tree, self.command(self.worker.poke), self.report.with_name("poke"))
        self._message = message
        try:
            message.poll()
            while not done.holds(self, 1):
                self.require_alive_or_uncopied("before it had handled its poke")
                if time.monotonic() > end:
                    within = f"{done.within:g} s{done.hint(self)}{message.last_words()}{when}"
                    why = f"it did not handle its poke within {within}"
                    self._record_missing("lateness", why, done.within)
                    return None
                if message.since_sent_s > self.config.slot.shutdown_turn_s:
                    self.batch.hand_over_turn()
                # Often enough for a hundredth of the lateness: each test uses CPU.
                time.sleep(max(0.001, message.since_sent_s / 100))
                message.poll()
            return message.lateness_ns(time.monotonic_ns())
        except (Failure, HasEnded) as reason:
            raise type(reason)(f"{reason}{message.last_words()}{when}") from reason
        finally:
            self._facts |= {"sent_at_end": True} if message.is_sent_at_end else {}
            message.kill()
            self._message = None
            if self._check:
                self.tree.end_uncounted(self._check, 0.0)
                self._check = 0

    @property
    def has_poke_ended(self) -> bool:
        return self._message is not None and self._message.ended_ns is not None

    def succeeds(self, words: Sequence[str], within_s: float) -> bool:
        """Runs a command; returns whether it succeeded.

        While a message is handled, it returns at once: the command runs on, and until it has ended
        counts as failed.
        """
        if self._message is None:
            return super().succeeds(words, within_s)
        if not self._check:
            self._check = self.tree.start_uncounted(self.command(words), self.command_output)
        read_output(self.command_output, f"the command {words[0]}")
        code = self.tree.exit_codes.get(self._check)
        self._check = self._check if code is None else 0
        return code == 0


def _memory_totals(begin: proc.Memory | None, end: proc.Memory | None) -> dict[str, float]:
    if begin is None or end is None:
        return {}
    grown = max(0, end.allocated - begin.allocated)
    return {
        "memory_proportional": end.proportional,
        "memory_growth": 60 * grown / (end.read_at_s - begin.read_at_s),
    }
