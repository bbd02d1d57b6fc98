"""Runs programs to their end, with time limits and logs, and kills the processes they leave."""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from waitbench.model.errors import HarnessError, sanitize
from waitbench.system import files, proc, shutdown, variables

_COPIED_WITHIN_S = 10
_TAIL_BYTES = 2**16
_LINE_LENGTH = 1000

_running: set[int] = set()
"""PIDs of programs that ``start`` has started and ``end`` has not ended."""
_start_lock = threading.Lock()
"""Held while a program starts, so that no thread finds its process before it is in ``_running``."""
FindLeft = Callable[[int], Sequence[int]]
"""Takes the PID of a program; returns its processes."""


@dataclass(frozen=True)
class Finished:
    """The end of a program."""

    returncode: int | None
    """``None`` if it was killed at its time limit."""
    leftovers: int
    """The number of its processes that survived it, and were killed."""
    wrote_too_much: bool = False

    @property
    def timed_out(self) -> bool:
        return self.returncode is None


def start(
    arguments: Sequence[str], stdout: IO[bytes] | int, stderr: IO[bytes] | int, **more: Any
) -> "subprocess.Popen[bytes]":
    """Starts a program in a new session. The caller must call ``end``.

    Raises ``HarnessError`` after an interruption: no thread may begin another step.
    """
    if shutdown.was_interrupted():
        raise HarnessError(f"{arguments[0]} was not started, as waitbench is ending.")
    with _start_lock:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            **more,
        )
        _running.add(process.pid)
    return process


def end(process: "subprocess.Popen[bytes]", find_left: FindLeft) -> int:
    """Kills the processes of a program that still run; returns their number."""
    has_left = bool(find_left(process.pid))
    leftovers = proc.kill(lambda: find_left(process.pid)) if has_left else 0
    process.wait()
    _running.discard(process.pid)
    for pid in find_left(process.pid) if has_left else ():  # zombies
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    forget_present()
    return leftovers


@cache
def _present() -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    """The descendants of this process, and all others; cached until ``forget_present``.

    Others, with the inodes of ``proc.all_processes``, cannot become descendants.
    """
    present = proc.all_processes().items()
    descendants = frozenset(proc.descendants(os.getpid()))
    return descendants, frozenset(it for it in present if it[0] not in descendants)


def forget_present() -> None:
    """Makes the next program that starts take all present processes for those of others."""
    with _start_lock:
        _present.cache_clear()


def tree_and_orphans() -> FindLeft:
    """Returns a function that finds the descendants, with orphans, of the program started next.

    Programs that run concurrently must adopt their own orphans.
    """
    with _start_lock:  # so that one of several runs reads for all
        before, others = _present()

    def find(pid: int) -> Sequence[int]:
        with _start_lock:
            without = before | _running.difference((pid,))
            return proc.descendants(os.getpid(), without=without, others=others)

    return find


def run(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_start: Callable[[int], None] = lambda _group: None,
    find_left: FindLeft = proc.group_members,
    limits_output: bool = False,
) -> Finished:
    """Runs a program to its end or time limit, then kills the processes that ``find_left`` finds.

    Waits without polling, so that waitbench uses no CPU. Calls ``on_start`` with the PID.
    """
    over, too_much = threading.Event(), threading.Event()

    def stop() -> None:
        too_much.set()
        over.set()

    def wait() -> None:
        process.wait()
        over.set()

    with ExitStack() as stack:
        outputs = [
            stack.enter_context(limited(file, stop))
            if limits_output and not isinstance(file, int)
            else file
            for file in (stdout, stderr)
        ]
        process = start(arguments, *outputs, env=env, cwd=cwd)
        try:
            on_start(process.pid)
            # Popen.wait with a timeout would poll 20 times a second; a thread in waitpid blocks.
            threading.Thread(target=wait, daemon=True).start()
            timed_out = not over.wait(time_limit_s)
        finally:
            leftovers = end(process, find_left)
    return Finished(None if timed_out else process.returncode, leftovers, too_much.is_set())


@contextmanager
def limited(target: IO[bytes], stop: Callable[[], None]) -> Iterator[int]:
    """Yields a descriptor whose data a thread copies to ``target``; calls ``stop`` at a limit."""
    reading, writing = os.pipe()

    def copy() -> None:
        left = files.MOST_OUTPUT
        while left > 0 and (data := os.read(reading, 1 << 16)):
            left -= len(data)
            with suppress(OSError):  # a full disk loses output, but no figures
                target.write(data)
                target.flush()
        if left <= 0:
            stop()

    copier = threading.Thread(target=copy, daemon=True)
    copier.start()
    try:
        yield writing
    finally:
        os.close(writing)
        copier.join(_COPIED_WITHIN_S)
        with suppress(OSError):
            target.flush()
        os.close(reading)


class CommandOutput(NamedTuple):
    """The exit code, ``None`` if the program was killed at its time limit, and the output."""

    returncode: int | None
    stdout: str
    stderr: str


def ask(
    arguments: Sequence[str],
    *,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> CommandOutput:
    """Runs a program and returns its output. Raises ``OSError`` if there is no such program."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        finished = run(
            arguments, stdout=stdout, stderr=stderr, time_limit_s=time_limit_s, env=env, cwd=cwd
        )
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    return CommandOutput(finished.returncode, *texts)


def tail(path: Path, lines: int = 15, since: int = 0, *, first: int = 0) -> str:
    """The last lines of a log from the byte ``since`` on; empty if there is no file.

    The ``first`` lines of the log precede these, with "…" in place of omitted lines.
    """
    try:
        with files.open_file(path) as file:
            begin = file.read(_TAIL_BYTES if first else 0)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(since, size - _TAIL_BYTES))
            end = file.read()
    except OSError:
        return ""
    shown = end.decode("utf-8", "replace").rstrip().splitlines()
    if first and (len(shown) > first + lines or size > _TAIL_BYTES):
        head = begin.decode("utf-8", "replace").splitlines()[:first]
        shown = [*head, "…", *shown[-lines:]]
    else:
        shown = shown[-lines - first :]
    return "\n".join(sanitize(line[:_LINE_LENGTH]) for line in shown)


IMPORT_S, INSTALL_S, BUILD_S = 60.0, 600.0, 3600.0
"""Time limits of steps of a set-up."""
_ERROR_LINE = re.compile(
    r"\b(error|fatal|panicked|not found|not installed|no such file|cannot|could not)\b", re.I
)
_MOST_READ = 4 * 2**20


def run_logged(
    arguments: Sequence[str],
    log: Path,
    *,
    time_limit_s: float = INSTALL_S,
    more_variables: Mapping[str, str] | None = None,
    cwd: Path = Path("/"),
) -> None:
    """Runs a step of a set-up, and appends its output to a log. Raises ``HarnessError``.

    The default folder is not the current one, from which Python would import modules.
    """
    with log.open("ab") as file:
        begun = file.tell()
        finished = run(
            arguments,
            stdout=file,
            stderr=subprocess.STDOUT,
            limits_output=True,
            time_limit_s=time_limit_s,
            # Only listed variables, as some steps run the code under test.
            env={**variables.of_setup(), **(more_variables or {})},
            cwd=cwd,
        )
    if finished.returncode == 0:
        return
    program = Path(arguments[0]).name
    if finished.timed_out or finished.wrote_too_much:
        why = f"was still running after {time_limit_s:g} s"
        if finished.wrote_too_much:
            why = f"wrote more than {files.MOST_OUTPUT >> 20} MiB"
        raise HarnessError(f"{program} {why}, and was killed.\nThe end of {log}:\n{tail(log)}")
    # Results store the first line as the reason, so it has no paths of this machine.
    end = tail(log, since=begun)
    first = _first_error(log, begun) or end.rpartition("\n")[2].strip() or "it printed nothing"
    details = "\n".join((first, end, f"The log is {log}."))
    raise HarnessError(f"{program} failed (exit {finished.returncode}): {details}")


def _first_error(log: Path, since: int) -> str:
    """The first error message in a log from a byte on: later ones are often consequences."""
    with log.open("rb") as file:
        file.seek(since)
        text = file.read(_MOST_READ).decode("utf-8", "replace")
    # The last of uv's ``cause`` lines is the reason.
    text = re.sub(r"\n +cause: (?:.*\n +cause: )*", ": ", text)
    lines = (line for line in text.splitlines() if _ERROR_LINE.search(line))
    return sanitize(next(lines, "").strip()[:_LINE_LENGTH])
