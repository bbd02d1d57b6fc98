"""Starting programs and steps: argument lists, time limits, logs, and nothing left behind."""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from waitbench.model.errors import HarnessError
from waitbench.system import endings, files, trees, variables
from waitbench.system.guard import GUARD
from waitbench.system.streams import printable

MOST_OUTPUT = 16 * 2**20
"""What a program that runs alone may write to each of its outputs, in bytes."""
_COPIED_WITHIN_S = 10
_TAIL_BYTES = 2**16
_LINE_LENGTH = 1000

_begun: set[int] = set()
"""The programs that run, each with a process group of its own."""
_begins = threading.Lock()
"""Held while one is started, so that it is in ``_begun`` as soon as anybody can see it."""


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    returncode: int | None
    """``None`` when its time limit passed and it was killed."""
    leftovers: int
    """Processes that were still alive after it, and were killed."""
    wrote_too_much: bool = False
    """Whether it was killed because there was no end to its output."""

    @property
    def timed_out(self) -> bool:
        return self.returncode is None


def run(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_start: Callable[[int], None] = lambda _group: None,
    find_left: Callable[[int], Sequence[int]] = trees.in_group,
) -> Finished:
    """Runs a program to its end or its time limit; then its whole process group is gone.

    The caller's thread blocks without polling, so that nothing of the harness runs meanwhile. Any
    exception (Ctrl-C among them) kills the group before it travels on. ``on_start`` is told the
    group as soon as there is one. ``find_left`` finds what else is of a group. Raises
    ``HarnessError`` once the harness is to end: a thread that does not know of that must not begin
    the next step.
    """
    if endings.was_ended():
        raise HarnessError(f"{arguments[0]} was not started, as waitbench is ending.")
    with _begins:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**(os.environ if env is None else env), **GUARD.mark()},
            cwd=cwd,
            start_new_session=True,
        )
        _begun.add(process.pid)
    try:
        on_start(process.pid)
        # Popen.wait with a timeout polls, up to 20 times a second; a thread in waitpid does not.
        waiter = threading.Thread(target=process.wait, daemon=True)
        waiter.start()
        waiter.join(time_limit_s)
        timed_out = waiter.is_alive()
    finally:
        leftovers = trees.kill(lambda: find_left(process.pid))
        process.wait()
        _begun.discard(process.pid)
    return Finished(None if timed_out else process.returncode, leftovers)


def run_alone(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes],
    stderr: IO[bytes],
    time_limit_s: float,
    env: Mapping[str, str],
    cwd: Path,
    on_start: Callable[[int], None],
) -> Finished:
    """What ``run`` does, for code that may do anything. Meanwhile only others of it may be started.

    What it has started is gone afterwards, whatever group it moved to, where this process adopts
    orphans. Its output has an end.
    """
    GUARD.mark()  # starts the guard, which is none of the program's
    before = {*trees.below(os.getpid())}
    group: list[int] = []
    too_much = threading.Event()

    def started(number: int) -> None:
        group.append(number)
        on_start(number)

    def stop() -> None:
        too_much.set()
        trees.kill(left)

    def left(_group: int = 0) -> list[int]:
        # Whoever else runs has what that leaves below it, as its launcher adopts orphans, too.
        with _begins:
            return trees.below(os.getpid(), without=before | _begun.difference(group))

    with ExitStack() as stack:
        out, errors = (stack.enter_context(_limited(one, stop)) for one in (stdout, stderr))
        finished = run(
            arguments,
            stdout=out,
            stderr=errors,
            time_limit_s=time_limit_s,
            env=env,
            cwd=cwd,
            on_start=started,
            find_left=left,
        )
    for one in left():  # that nobody has waited for
        with suppress(ChildProcessError):
            os.waitpid(one, os.WNOHANG)
    return replace(finished, wrote_too_much=too_much.is_set())


@contextmanager
def _limited(target: IO[bytes], stop: Callable[[], None]) -> Iterator[int]:
    """Where a program may write; what it writes goes to ``target``, up to a limit.

    A thread blocks until there is something to copy: a silent program costs nothing.
    """
    reading, writing = os.pipe()

    def copy() -> None:
        left = MOST_OUTPUT
        while left > 0 and (data := os.read(reading, 1 << 16)):
            left -= len(data)
            with suppress(OSError):  # a full disk: what is lost is output, no figure
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


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a program said."""

    returncode: int | None
    """``None`` when its time limit passed and it was killed."""
    stdout: str
    stderr: str


def ask(
    arguments: Sequence[str],
    *,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
) -> Answer:
    """Runs a program as ``run`` does, for what it says. Raises ``OSError`` if it is not there."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        finished = run(arguments, stdout=stdout, stderr=stderr, time_limit_s=time_limit_s, env=env)
        said = []
        for file in (stdout, stderr):
            file.seek(0)
            said.append(file.read().decode("utf-8", "surrogateescape"))
    return Answer(returncode=finished.returncode, stdout=said[0], stderr=said[1])


def tail(path: Path, lines: int = 15, since: int = 0) -> str:
    """The last lines of a log, or an empty string where there is no file; from a byte on.

    Read from the end: a log may be larger than memory, and a line longer than a page.
    """
    try:
        with files.open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(since, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(printable(line[:_LINE_LENGTH]) for line in text.rstrip().splitlines()[-lines:])


IMPORT_S, INSTALL_S, BUILD_S = 60.0, 600.0, 3600.0
"""What an import, an installation and a build may take at the most."""

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
    """Runs one step of setting something up, its output appended to a log.

    By default not in the current folder, from where Python, among others, would import modules.
    Raises ``HarnessError`` with what it complained of first, and where the log is.
    """
    with log.open("ab") as file:
        begun = file.tell()
        finished = run(
            arguments,
            stdout=file,
            stderr=file,
            time_limit_s=time_limit_s,
            # Not what the harness itself has: some of these steps run the code under test.
            env={**variables.of_setup(), **(more_variables or {})},
            cwd=cwd,
        )
    if finished.returncode == 0:
        return
    program = Path(arguments[0]).name
    if finished.timed_out:
        raise HarnessError(
            f"{program} was still running after {time_limit_s:g} s, and was killed.\n"
            f"The end of {log}:\n{tail(log)}"
        )
    # The first line is what an outcome says: it is whole, and names no place of this machine.
    end = tail(log, since=begun)
    first = _complaint(log, begun) or end.rpartition("\n")[2].strip() or "it printed nothing"
    said = "\n".join((first, end, f"The log is {log}."))
    raise HarnessError(f"{program} failed (exit {finished.returncode}): {said}")


def _complaint(log: Path, begun: int) -> str:
    """The first line that says what is wrong: later ones only say that something was."""
    with log.open("rb") as file:
        file.seek(begun)
        text = file.read(_MOST_READ).decode("utf-8", "replace")
    # uv has the reason of an error in the last of the lines that follow it.
    text = re.sub(r"\n +cause: (?:.*\n +cause: )*", ": ", text)
    lines = (line for line in text.splitlines() if _COMPLAINT.search(line))
    return printable(next(lines, "").strip()[:_LINE_LENGTH])
