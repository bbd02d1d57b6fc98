"""Runs programs to their end: with time limits and logs, and without processes left behind."""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from waitbench.model.errors import HarnessError, sanitize
from waitbench.system import files, proc, shutdown, variables

_COPIED_WITHIN_S = 10
_TAIL_BYTES = 2**16
_LINE_LENGTH = 1000

_begun: set[int] = set()
"""PIDs of the running programs, each the leader of a process group."""
_begins = threading.Lock()
"""Held while a program starts, so that it is in ``_begun`` before another thread can find it."""
FindLeft = Callable[[int], Sequence[int]]
"""Finds the processes of a program, given its PID."""


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
    """Starts a program in a session of its own. The caller must call ``end``.

    Raises ``HarnessError`` during a shutdown, so that no thread begins another step.
    """
    if shutdown.was_interrupted():
        raise HarnessError(f"{arguments[0]} was not started, as waitbench is ending.")
    with _begins:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            **more,
        )
        _begun.add(process.pid)
    return process


def end(process: "subprocess.Popen[bytes]", find_left: FindLeft) -> int:
    """Kills the processes that a program has left; returns their number."""
    leftovers = proc.kill(lambda: find_left(process.pid))
    process.wait()
    _begun.discard(process.pid)
    for pid in find_left(process.pid):  # zombies
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return leftovers


def tree_and_orphans() -> FindLeft:
    """Finds the descendants of the program that is started next, including orphans.

    Programs that run at the same time must adopt their own orphans.
    """
    before = {*proc.descendants(os.getpid())}

    def find(pid: int) -> Sequence[int]:
        with _begins:
            return proc.descendants(os.getpid(), without=before | _begun.difference((pid,)))

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

    Blocks without polling, so that waitbench uses no CPU meanwhile.
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
            # Popen.wait with a timeout polls, 20 times a second; a thread in waitpid does not.
            threading.Thread(target=wait, daemon=True).start()
            timed_out = not over.wait(time_limit_s)
        finally:
            leftovers = end(process, find_left)
    return Finished(None if timed_out else process.returncode, leftovers, too_much.is_set())


@contextmanager
def limited(target: IO[bytes], stop: Callable[[], None]) -> Iterator[int]:
    """Yields a descriptor whose data a thread copies to ``target``; calls ``stop`` at a limit."""
    reading, writing = os.pipe()

    # The thread blocks until there is data: a silent program costs nothing.
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


CommandOutput = subprocess.CompletedProcess[str]
"""Its exit code is ``None`` if it was killed at its time limit."""


def ask(
    arguments: Sequence[str],
    *,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> CommandOutput:
    """Runs a program for its output. Raises ``OSError`` if there is no such program."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        finished = run(
            arguments, stdout=stdout, stderr=stderr, time_limit_s=time_limit_s, env=env, cwd=cwd
        )
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    return subprocess.CompletedProcess(arguments, finished.returncode, *texts)  # type: ignore[arg-type]


def tail(path: Path, lines: int = 15, since: int = 0, *, first: int = 0) -> str:
    """The last lines of a log from the byte ``since`` on; empty if there is no file.

    The ``first`` lines of the log precede them, with "…" in place of omitted lines.
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

_COMPLAINT = re.compile(
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

    Python imports modules from the current folder, so the default is another one.
    """
    with log.open("ab") as file:
        begun = file.tell()
        finished = run(
            arguments,
            stdout=file,
            stderr=subprocess.STDOUT,
            limits_output=True,
            time_limit_s=time_limit_s,
            # Without other variables, as some steps run the code under test.
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
    # The first line becomes the stored reason: it is complete, and has no paths of this machine.
    end = tail(log, since=begun)
    first = _complaint(log, begun) or end.rpartition("\n")[2].strip() or "it printed nothing"
    details = "\n".join((first, end, f"The log is {log}."))
    raise HarnessError(f"{program} failed (exit {finished.returncode}): {details}")


def _complaint(log: Path, begun: int) -> str:
    """The first error message in a log, as later ones are consequences."""
    with log.open("rb") as file:
        file.seek(begun)
        text = file.read(_MOST_READ).decode("utf-8", "replace")
    # The last of uv's ``cause`` lines is the reason.
    text = re.sub(r"\n +cause: (?:.*\n +cause: )*", ": ", text)
    lines = (line for line in text.splitlines() if _COMPLAINT.search(line))
    return sanitize(next(lines, "").strip()[:_LINE_LENGTH])
