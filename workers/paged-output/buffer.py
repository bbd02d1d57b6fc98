"""What a paged writer holds: messages that wait, those under way, and the counts of all."""

from collections import deque

from stats import Stats


class Buffer:
    """Messages from when they are taken until they are acknowledged, shed or lost.

    No more than the data: whoever uses it holds a lock, and knows when it is full.
    """

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.under_way: list[bytes] = []
        self._total = self._sent = self._dropped = self._direct = 0
        self._bytes = self._peak = 0
        self._left = self._page_begins = 0
        """How many had left the front of what waits: now, and when the page under way did."""
        self._awaited: dict[object, int] = {}
        """How many must have left, and be no longer under way, for each that waits for that."""

    def append(self, message: bytes) -> None:
        """Takes a message."""
        self._total += 1
        self.waiting.append(message)
        self._bytes += len(message)
        self._peak = max(self._peak, self._bytes)

    def refuse(self) -> None:
        """Counts a message that is not taken."""
        self._total += 1
        self._dropped += 1

    def shed(self, *, oldest: bool) -> None:
        """Drops the message that has waited longest, or the one that came last."""
        if oldest:
            message = self.waiting.popleft()
            self._left += 1
        else:
            message = self.waiting.pop()
            # Who waits for that one waits for those before it only.
            end = self._left + len(self.waiting)
            self._awaited = {who: min(awaited, end) for who, awaited in self._awaited.items()}
        self._bytes -= len(message)
        self._dropped += 1

    def take(self, most_bytes: int, *, direct: bool) -> list[bytes]:
        """A page is under way from now on: messages of no more bytes, or one that is larger.

        A page that is written directly has one message.
        """
        waiting, page = self.waiting, self.under_way
        self._page_begins = self._left
        page.append(waiting.popleft())
        most_bytes -= len(page[0])
        while waiting and not direct and len(waiting[0]) <= most_bytes:
            most_bytes -= len(waiting[0])
            page.append(waiting.popleft())
        self._left += len(page)
        return page

    def settle(self, *, arrived: bool, direct: bool = False) -> None:
        """Counts what was under way as sent, or as lost."""
        count = len(self.under_way)
        if arrived:
            self._sent += count
            self._direct += count if direct else 0
        else:
            self._dropped += count
        self._bytes -= sum(map(len, self.under_way))
        self.under_way = []

    def lose_all(self) -> None:
        """Counts all that is held as lost."""
        self._left += len(self.waiting)
        self.under_way.extend(self.waiting)
        self.waiting.clear()
        self.settle(arrived=False)

    def wait_for_all(self, who: object) -> None:
        """Remembers, for ``is_awaited``, what is held now."""
        self._awaited[who] = self._left + len(self.waiting)

    def is_awaited(self, who: object) -> bool:
        """Whether any of what was held when ``who`` began to wait still is."""
        awaited = self._awaited[who]
        return self._left < awaited or (bool(self.under_way) and self._page_begins < awaited)

    def stop_waiting(self, who: object) -> None:
        del self._awaited[who]

    def stats(self) -> Stats:
        return Stats(
            total=self._total,
            sent=self._sent,
            dropped=self._dropped,
            in_flight=len(self.under_way) + len(self.waiting),
            direct=self._direct,
            bytes_held=self._bytes,
            bytes_held_peak=self._peak,
        )
