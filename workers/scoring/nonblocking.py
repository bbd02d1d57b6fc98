"""A model behind nonblocking pipes: a call ends within its limit, whatever the model does.

What it takes besides ``O_NONBLOCK``:

* **Little in flight.** A line handed over cannot be taken back, so what is in the pipes at the
  limit is work done for nothing, and it stands in the way of the next call. Only about a
  millisecond of the model's work is ever in flight, by a running estimate of how long the model
  takes for a byte; it starts pessimistic. And no line is sent that would not come back in time.
* **Whose prediction is it?** A model answers in order, so counting is enough: the first predictions
  of a call belong to the lines that earlier calls left behind, and are thrown away. A line that was
  half written at the limit is finished first by the next call; lines not begun are taken back. So a
  new call need not wait until the old lines are done.
* **Waiting.** ``parks=False`` tries again at once when there is nothing to read and no room to
  write, as the loop does that made this project's subject: a whole core for waiting. ``parks=True``
  sleeps until about half of what is in flight should be done, then in ``select`` with the time that
  is left. One wake-up then brings dozens of predictions; waiting for the first byte alone would be
  one wake-up for each.
"""

import os
import select
import time
from collections.abc import Sequence

from blocking import STALL_S
from call import Call, require_lines
from model_process import ModelProcess, predictions_of
from pace import Pace

WINDOW_S = 0.001
"""How much of the model's work is in flight at most, by estimate."""
FEWEST, MOST = 8, 400
"""Bounds of the lines in flight, whatever the estimate.

Some must be, for the model's speed to be known; and an estimate that is far too good must not fill
the pipes.
"""
SPARE_S = 0.0003
"""Lines that would come back so close to the limit, by estimate, are not sent."""
RETURN_S = 0.0002
"""A call stops this long before its limit: it has to return, too."""
SHORTEST_NAP_S = 0.00005
"""Linux wakes sleepers up to 50 µs late (timerslack), so a shorter nap is not worth taking."""


class NonblockingScorer:
    """``parks`` says how it waits. One thread at a time."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        parks: bool,
        stall_s: float = STALL_S,
    ) -> None:
        self._process = ModelProcess(command, blocking=False)
        self._parks = parks
        self._stall_s = stall_s
        self._unsent = memoryview(b"")
        self._mid_line = False
        """Whether the last byte written was within a line."""
        self._in_flight = 0
        """Lines sent, or in ``_unsent``, whose predictions have not come."""
        self._stale = 0
        """How many of these are lines of earlier calls."""
        self._tail = b""
        self._pace = Pace()
        self._line_bytes = 1
        self._progress_at = time.perf_counter()
        """When anything last came, or a call found nothing pending."""

    @property
    def process(self) -> ModelProcess:
        return self._process

    def score(
        self, context: bytes, candidates: Sequence[bytes], limit_s: float
    ) -> tuple[list[float], Call]:
        """Predictions for as many of the first candidates as the limit allows, in order.

        Raises ``ModelError``; ``ValueError`` for what is more than a line.
        """
        begun = time.perf_counter()
        require_lines(context, candidates)
        with self._process.asking:
            return self._score(context, candidates, begun, limit_s)

    def close(self) -> None:
        self._process.close()

    def _score(
        self, context: bytes, candidates: Sequence[bytes], begun: float, limit_s: float
    ) -> tuple[list[float], Call]:
        clock = time.perf_counter
        end = begun + limit_s - RETURN_S
        call = Call(pending_before=self._in_flight)
        self._clean_up(begun)
        call.pending_after = self._stale
        call.cleanup_s = clock() - begun
        prefix = context + b" "
        between = b"\n" + prefix
        self._line_bytes = len(prefix) + (len(candidates[0]) if candidates else 0) + 1
        predictions: list[float] = []
        sent, count = 0, len(candidates)
        napped = False
        call.prepare_s = clock() - begun
        while True:
            moved = self._in_flight > 0 and self._receive(predictions)
            if sent == count and not self._in_flight:
                break
            now = clock()
            left = end - now
            if left <= 0:
                break
            if self._unsent:
                moved |= self._flush()
            elif sent < count:
                window, allowed = self._allowed(left)
                if not sent:
                    # However slow the model was thought to be: only by asking can a call learn that
                    # it no longer is.
                    allowed = max(allowed, 1)
                room = min(allowed - self._in_flight, count - sent)
                # Half a window at a time, except where fewer are left to send, or there is time for
                # fewer.
                if room > 0 and room >= min(window // 2, count - sent, max(allowed // 2, 1)):
                    if not self._in_flight:
                        self._pace.begin(now)
                    batch = candidates[sent : sent + room]
                    self._unsent = memoryview(prefix + between.join(batch) + b"\n")
                    self._in_flight += room
                    sent += room
                    self._flush()
                    moved = True
                elif allowed <= 0 and not self._in_flight:
                    break
            if moved:
                napped = False
            elif self._parks:
                napped = self._park(end - clock(), napped)
        self._take_back()
        call.lines = len(predictions)
        call.total_s = clock() - begun
        return predictions, call

    def _allowed(self, left_s: float) -> tuple[int, int]:
        """How many lines may be in flight: by the window alone, and of these, back in time."""
        line_s = self._pace.byte_s * self._line_bytes
        if not line_s:
            return FEWEST, FEWEST
        window = min(max(FEWEST, int(WINDOW_S / line_s)), MOST)
        return window, min(window, int((left_s - SPARE_S) / line_s))

    def _park(self, left_s: float, napped: bool) -> bool:
        """Waits until there is something to do, at most for the time left.

        Returns whether it was by a nap.
        """
        if left_s <= 0:
            return False
        # No nap after one that brought nothing, when the estimate is worth nothing; and none with
        # few lines in flight, when there are few wake-ups to save, and the lines' speed is worth
        # knowing exactly.
        nap_s = 0.0
        if not napped and self._in_flight > FEWEST:
            nap_s = min(
                left_s, WINDOW_S / 2, self._in_flight / 2 * self._pace.byte_s * self._line_bytes
            )
        if nap_s > SHORTEST_NAP_S:
            time.sleep(nap_s)
            return True
        writers = [self._process.to_model] if self._unsent else []
        select.select([self._process.from_model], writers, [], left_s)
        return False

    def _clean_up(self, now: float) -> None:
        """Clears what the call before left behind.

        That is the rest of a line, and predictions that nobody waits for any more.
        """
        self._stale = self._in_flight
        if not self._in_flight:
            self._progress_at = now
            return
        if now - self._progress_at > self._stall_s:
            raise self._process.failure("has not answered for %.0f s" % (now - self._progress_at))
        while self._unsent and self._flush():
            pass
        nobody: list[float] = []
        while self._in_flight and self._receive(nobody):
            pass

    def _take_back(self) -> None:
        """Forgets the lines that the pipe has not taken the first byte of."""
        if not self._unsent:
            return
        rest = bytes(self._unsent)
        keep = rest.index(b"\n") + 1 if self._mid_line else 0
        self._in_flight -= rest.count(b"\n", keep)
        self._unsent = memoryview(rest[:keep])

    def _flush(self) -> bool:
        """Writes what the pipe takes. Returns whether it took any."""
        try:
            written = os.write(self._process.to_model, self._unsent)
        except BlockingIOError:
            return False
        except BrokenPipeError:
            raise self._process.failure("closed its input") from None
        self._mid_line = self._unsent[written - 1] != 0x0A
        self._unsent = self._unsent[written:]
        return True

    def _receive(self, predictions: list[float]) -> bool:
        """Reads what has come, past the predictions for lines of earlier calls.

        Returns whether anything has.
        """
        try:
            data = os.read(self._process.from_model, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            raise self._process.failure("closed its output")
        *lines, self._tail = (self._tail + data).split(b"\n")
        count = len(lines)
        if count > self._in_flight:
            raise self._process.failure("answered more lines than it was asked")
        self._in_flight -= count
        self._progress_at = now = time.perf_counter()
        old = min(self._stale, count)
        if self._stale:
            # Lines of another length, of which the model may have done many before this call.
            self._pace.begin(now)
        else:
            self._pace.learn(now, count * self._line_bytes, drained=not self._in_flight)
        self._stale -= old
        del lines[:old]
        predictions += predictions_of(lines, self._process)
        return True
