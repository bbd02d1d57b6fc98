"""A model process behind pipes: how it is started, how it fails, how it ends."""

import math
import os
import select
import subprocess
import tempfile
import time
from typing import List, Optional, Sequence, Type

from .call import are_finite
from .treatment import USUAL, Treatment, treat

_ENDS_WITHIN_S = 10.0


class ModelError(Exception):
    """A model process died, hung, or answered with something else than predictions.

    Says which, with its last words.
    """


class ModelProcess:
    """A program that reads a line on stdin and writes a prediction line on stdout for each.

    ``to_model`` and ``from_model`` are file descriptors. stderr goes to a file, so that a model
    that complains much cannot block, and so that its last words are there when it has died.
    ``asking`` is a context manager for whoever asks.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        blocking: bool,
        reads: bool = True,
        treatment: Treatment = USUAL,
    ) -> None:
        self.command = list(command)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if reads else subprocess.DEVNULL,
                stderr=self._stderr,
                bufsize=0,
            )
        except OSError as error:
            raise ModelError(
                "the model process %r cannot be started: %s" % (self.command[0], error)
            ) from error
        assert self._process.stdin is not None, "asked for"
        self.to_model = self._process.stdin.fileno()
        self.from_model = self._process.stdout.fileno() if self._process.stdout else -1
        pipes = [pipe for pipe in (self.to_model, self.from_model) if pipe >= 0]
        for pipe in pipes:
            os.set_blocking(pipe, blocking)
        self.asking = _Asking(self)
        self.user_s = 0.0
        self.system_s = 0.0
        """CPU time of the process, once it is closed."""
        try:
            treat(self.pid, pipes, treatment)
        except OSError as error:
            if treatment is USUAL:
                return  # What the system refuses it refuses to all: they have what it gives.
            self.kill()
            self.close()
            raise ModelError(
                "the model process %r cannot have %r: %s" % (self.command[0], treatment, error)
            ) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Ends it at once; whoever waits for it meets the end of a pipe."""
        if self._process.returncode is None:
            self._process.kill()

    def failure(self, what: str) -> ModelError:
        """An error that names the process and what is wrong with it.

        It also says how the process ended, if it has, and its last words.
        """
        state = self._ended(0.5)
        how = "is running" if state is None else "ended with exit code %d" % state
        words = self._last_words()
        return ModelError(
            "model process %d (%s): %s. It %s; %s"
            % (self.pid, " ".join(self.command[:3]), what, how, words)
        )

    def close(self) -> None:
        """Ends its input, reads the rest of its output, and waits for it to end.

        Kills it if it does not.
        """
        process = self._process
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        if process.stdout is not None and not process.stdout.closed:
            self._drain()
            process.stdout.close()
        if self._ended(_ENDS_WITHIN_S) is None:
            self.kill()
            self._ended(None)
        self._stderr.close()

    def _drain(self) -> None:
        end = time.monotonic() + _ENDS_WITHIN_S
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.from_model], [], [], left)[0]:
                return
            if not os.read(self.from_model, 1 << 16):
                return

    def _ended(self, within_s: Optional[float]) -> Optional[int]:
        """Its exit code (below zero: the signal), or ``None`` if it still runs.

        Keeps the CPU time that it used.
        """
        process = self._process
        end = None if within_s is None else time.monotonic() + within_s
        while process.returncode is None:
            pid, status, used = os.wait4(process.pid, 0 if end is None else os.WNOHANG)
            if pid:
                signalled = os.WIFSIGNALED(status)
                process.returncode = -os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status)
                self.user_s, self.system_s = used.ru_utime, used.ru_stime
            elif end is not None and time.monotonic() >= end:
                return None
            else:
                time.sleep(0.005)
        return process.returncode

    def _last_words(self) -> str:
        if self._stderr.closed:
            return "its stderr is closed"
        size = os.fstat(self._stderr.fileno()).st_size
        text = os.pread(self._stderr.fileno(), 4096, max(0, size - 4096)).decode("utf-8", "replace")
        lines: List[str] = [line for line in text.splitlines() if line.strip()][-5:]
        return "the end of its stderr: " + " | ".join(lines) if lines else "its stderr is empty"


class _Asking:
    """Around each call: a model whose call did not come to its end is not asked again.

    Nobody knows how many of its next answers belong to that call.
    """

    def __init__(self, process: ModelProcess) -> None:
        self._process = process
        self._begun = False

    def __enter__(self) -> None:
        if self._begun:
            raise self._process.failure(
                "a call was interrupted or is not over, so whose its answers are is not known"
            )
        self._begun = True

    def __exit__(self, kind: Optional[Type[BaseException]], *_error: object) -> None:
        self._begun = kind is not None


def predictions_of(lines: Sequence[bytes], process: ModelProcess) -> List[float]:
    """Reads predictions: a finite number each, then perhaps the line's tag.

    Raises ``ModelError`` for anything else.
    """
    try:
        predictions = [float(line) for line in lines]
    except ValueError:
        predictions = [_parse(line, process) for line in lines]
    if not are_finite(predictions):
        odd = next(line for line, value in zip(lines, predictions) if not math.isfinite(value))
        raise _not_a_prediction(odd, process)
    return predictions


def _parse(line: bytes, process: ModelProcess) -> float:
    try:
        return float(line.split(None, 1)[0])
    except (ValueError, IndexError):
        raise _not_a_prediction(line, process) from None


def _not_a_prediction(line: bytes, process: ModelProcess) -> ModelError:
    return process.failure("%r is not a prediction" % line[:80])
