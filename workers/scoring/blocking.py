"""A model behind blocking pipes: most lines in a second, and no promise when a call ends."""

import os
import threading
import time
from collections.abc import Sequence
from typing import Optional

from call import Call, require_lines
from model_process import ModelProcess, predictions_of

BATCH = 48
"""Lines that are handed over at once."""
READS_LATER_S = 0.00012
"""How long predictions may gather before they are read; the model has a batch in reserve.

A reader that blocks for the first of them is woken for nearly each, and on few cores takes from the
model what it needs for that.
"""
STALL_S = 30.0
"""A model that lets a call wait so long counts as hung."""


class BlockingScorer:
    """Writes batches, and reads the predictions of one while the model works on the next.

    The limit is looked at between batches, so a call overruns by what the model does with up to two
    of them, and by any stall of the model. A call leaves nothing behind. With ``write_only`` it can
    only train, and reads nothing.
    """

    def __init__(
        self,
        command: Sequence[str],
        batch: int = BATCH,
        write_only: bool = False,
        stall_s: float = STALL_S,
    ) -> None:
        self._process = ModelProcess(command, blocking=True, reads=not write_only)
        self._batch = batch
        self._write_only = write_only
        self._received: list[bytes] = []
        self._tail = b""
        self._watchdog = _Watchdog(self._process, stall_s)

    @property
    def process(self) -> ModelProcess:
        return self._process

    def score(
        self, context: bytes, candidates: Sequence[bytes], limit_s: float
    ) -> tuple[list[float], Call]:
        """Predictions for as many of the first candidates as the limit allows, in order.

        Raises ``ModelError``; ``ValueError`` for what is more than a line.
        """
        if self._write_only:
            raise ValueError("a write-only scorer can train, not predict")
        begun = time.perf_counter()
        deadline = begun + limit_s
        call = Call()
        require_lines(context, candidates)
        prefix = context + b" "
        between = b"\n" + prefix
        predictions: list[float] = []
        sent = 0
        call.prepare_s = time.perf_counter() - begun
        with self._process.asking, self._watchdog:
            while sent < len(candidates) and time.perf_counter() < deadline:
                batch = candidates[sent : sent + self._batch]
                self._write(prefix + between.join(batch) + b"\n")
                sent += len(batch)
                # One batch ahead: the model has work while we read what came of the batch before.
                predictions += self._read(sent - len(batch) - len(predictions))
            predictions += self._read(sent - len(predictions))
            if self._received:
                raise self._process.failure("answered more lines than it was asked")
        call.lines = len(predictions)
        call.total_s = time.perf_counter() - begun
        return predictions, call

    def train(self, context: bytes, candidates: Sequence[bytes], labels: Sequence[int]) -> None:
        """Shows the model labelled lines. Raises as ``score`` does."""
        require_lines(context, candidates)
        prefix = b" " + context + b" "
        behind = 0
        with self._process.asking, self._watchdog:
            for start in range(0, len(candidates), self._batch):
                batch = candidates[start : start + self._batch]
                lines = [
                    b"%d%s%s\n" % (label, prefix, candidate)
                    for label, candidate in zip(labels[start:], batch, strict=False)
                ]
                self._write(b"".join(lines))
                if not self._write_only:
                    self._read(behind)
                    behind = len(batch)
            if not self._write_only:
                self._read(behind)

    def close(self) -> None:
        self._watchdog.close()
        self._process.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._process.to_model, view) :]
        except BrokenPipeError:
            raise self._failure("closed its input") from None

    def _read(self, count: int) -> list[float]:
        """The next ``count`` predictions."""
        if len(self._received) < count:
            time.sleep(READS_LATER_S)
        while len(self._received) < count:
            data = os.read(self._process.from_model, 1 << 16)
            if not data:
                raise self._failure("closed its output")
            *lines, self._tail = (self._tail + data).split(b"\n")
            self._received += lines
        lines, self._received = self._received[:count], self._received[count:]
        return predictions_of(lines, self._process)

    def _failure(self, what: str) -> Exception:
        if self._watchdog.barked:
            what = f"did not answer for {self._watchdog.limit_s:g} s and was killed"
        return self._process.failure(what)


class _Watchdog:
    """Kills a model that keeps a call waiting for too long: a blocking read cannot end by itself.

    A context manager around each call. Its thread sleeps for ``limit_s`` at a time, however many
    calls there are.
    """

    def __init__(self, process: ModelProcess, limit_s: float) -> None:
        self.limit_s = limit_s
        self.barked = False
        self._process = process
        self._since: Optional[float] = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="watchdog")
        self._thread.start()

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_exception: object) -> None:
        self._since = None

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        wait = self.limit_s
        while not self._closed.wait(wait):
            since = self._since
            wait = self.limit_s if since is None else since + self.limit_s - time.monotonic()
            if wait <= 0:
                self.barked = True
                self._process.kill()
                return
