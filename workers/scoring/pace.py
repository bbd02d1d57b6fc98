"""How quick a model is, as far as anybody knows."""


class Pace:
    """A running estimate of the model's time for a byte of a line: short contexts, short lines.

    A model answers in bursts, so it is judged by at least half a millisecond at a time, or by all
    there was to do.
    """

    _JUDGED_S = 0.0005
    _WEIGHT = 0.5
    _KNOWN_BYTES = 32_768
    """What is less than this, and was all there was to do, is mostly the way there and back."""

    def __init__(self) -> None:
        self.byte_s = 0.0
        """Seconds; 0 while nothing is known."""
        self._since = self._busy_s = 0.0
        self._bytes = 0

    def begin(self, now: float) -> None:
        """Work has begun after a pause, or what was seen so far says nothing."""
        self._since = now
        self._busy_s = 0.0
        self._bytes = 0

    def learn(self, now: float, done: int, *, drained: bool) -> None:
        """So many more bytes are done; ``drained`` if nothing is left to do."""
        self._busy_s += now - self._since
        self._since = now
        self._bytes += done
        if not self._bytes or not (drained or self._busy_s >= self._JUDGED_S):
            return
        sample = self._busy_s / self._bytes
        weight = self._WEIGHT * min(1.0, self._bytes / self._KNOWN_BYTES) if self.byte_s else 1.0
        self.byte_s += weight * (sample - self.byte_s)
        # A model that was starting, or was stopped by something, is soon known to be quick again.
        self.byte_s = min(self.byte_s, 8 * sample)
        self.begin(now)
