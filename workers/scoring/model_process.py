"""A model process behind pipes: how it is started, how it fails, how it ends."""

import fcntl
import math
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Optional

from call import are_finite

PIPE_BYTES = 1 << 20
"""Size of each pipe, where the system allows it.

A millisecond of a model's work is more than 64 KiB of long lines, and a worker that sleeps
meanwhile would leave the model without.
"""
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ: fcntl names it on Linux only
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
                f"the model process {self.command[0]!r} cannot be started: {error}"
            ) from error
        assert self._process.stdin is not None, "asked for"
        self.to_model = self._process.stdin.fileno()
        self.from_model = self._process.stdout.fileno() if self._process.stdout else -1
        for pipe in (self.to_model, self.from_model):
            if pipe >= 0:
                os.set_blocking(pipe, blocking)
                with suppress(OSError):
                    fcntl.fcntl(pipe, _SET_PIPE_SIZE, PIPE_BYTES)
        self.asking = _Asking(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Ends it at once; whoever waits for it meets the end of a pipe."""
        self._process.kill()

    def failure(self, what: str) -> ModelError:
        """An error that names the process and what is wrong with it.

        It also says how the process ended, if it has, and its last words.
        """
        state = self._ended(0.5)
        how = "is running" if state is None else f"ended with exit code {state}"
        words = self._last_words()
        return ModelError(
            f"model process {self.pid} ({' '.join(self.command[:3])}): {what}. It {how}; {words}"
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
        """Its exit code (below zero: the signal), or ``None`` if it still runs."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(within_s)
        return None

    def _last_words(self) -> str:
        if self._stderr.closed:
            return "its stderr is closed"
        size = os.fstat(self._stderr.fileno()).st_size
        text = os.pread(self._stderr.fileno(), 4096, max(0, size - 4096)).decode("utf-8", "replace")
        lines: list[str] = [line for line in text.splitlines() if line.strip()][-5:]
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

    def __exit__(self, kind: Optional[type[BaseException]], *_error: object) -> None:
        self._begun = kind is not None


def predictions_of(lines: Sequence[bytes], process: ModelProcess) -> list[float]:
    """Reads predictions: a finite number each, then perhaps the line's tag.

    Raises ``ModelError`` for anything else.
    """
    try:
        predictions = [float(line) for line in lines]
    except ValueError:
        predictions = [_parse(line, process) for line in lines]
    if not are_finite(predictions):
        odd = next(
            line
            for line, value in zip(lines, predictions, strict=False)
            if not math.isfinite(value)
        )
        raise _not_a_prediction(odd, process)
    return predictions


def _parse(line: bytes, process: ModelProcess) -> float:
    try:
        return float(line.split(None, 1)[0])
    except (ValueError, IndexError):
        raise _not_a_prediction(line, process) from None


def _not_a_prediction(line: bytes, process: ModelProcess) -> ModelError:
    return process.failure(f"{line[:80]!r} is not a prediction")
