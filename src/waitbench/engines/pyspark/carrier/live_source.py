"""A live source of Spark: partitions whose items become due by the clock.

Spark asks ``latestOffset`` for the end of what there is, over and over, in a process of its own on
the driver's side. That is where the readers are: all that is due by then is read, and numbered by
partition, as a log would. The batch between two offsets is planned as a task for each partition
that has something new; the task carries it to the Python worker that gives it to Spark. What has
been read stays until Spark says that the batch is done, and can be asked for again until then.
"""

import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from channel import Teller
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

ITEM = ("ident", "due_ns", "digit")
_ITEM_SCHEMA = "ident long, due_ns long, digit int"
_LAST = "last"


class EventTime(NamedTuple):
    """What rows have besides their item where they are to be held in windows."""

    key: Callable[[Any], str]
    zero_ns: int
    """The time of the day, in ns since 1970, when the monotonic clock was 0."""
    last_after_s: float
    """How far behind the end of the input the last row is, which moves the watermark."""

    def at(self, monotonic_ns: int) -> datetime:
        """An item's time, from when it was due."""
        return datetime.fromtimestamp((self.zero_ns + monotonic_ns) / 1e9, timezone.utc)


class Slice(InputPartition):  # type: ignore[misc]
    """What one task is to bring: the new items of one partition, or the last row."""

    def __init__(self, items: Sequence[Any], last_ns: Optional[int] = None) -> None:
        super().__init__(None)
        self.items = items
        self.last_ns = last_ns


class _Log:
    """The items of one partition, numbered in order of reading; the oldest may be forgotten."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._items: List[Any] = []
        self._forgotten = 0
        self.is_over = False
        self.polls = 0
        self.ident_sum = 0

    @property
    def end(self) -> int:
        """How many items have been read."""
        return self._forgotten + len(self._items)

    def read_due(self) -> None:
        """Reads all that there is by now."""
        while not self.is_over:
            self.polls += 1
            try:
                item = self._reader.next_item()
            except StopIteration:
                self.is_over = True
                return
            if item is None:
                return
            self._items.append(item)
            self.ident_sum += item[0]

    def between(self, start: int, end: int) -> List[Any]:
        return self._items[start - self._forgotten : end - self._forgotten]

    def forget(self, end: int) -> None:
        del self._items[: max(end - self._forgotten, 0)]
        self._forgotten = max(end, self._forgotten)


class LiveReader(DataSourceStreamReader):  # type: ignore[misc]
    """Reads all partitions; see the module.

    Spark copies it to the processes that plan and that read; only the one that is asked for offsets
    ever has readers.
    """

    def __init__(
        self,
        build_readers: Callable[[], Sequence[Any]],
        names: Sequence[str],
        folder: str,
        event_time: Optional[EventTime],
    ) -> None:
        self._build_readers = build_readers
        self._names = names
        self._folder = folder
        self._event_time = event_time
        self._logs: Optional[List[_Log]] = None
        self._teller: Optional[Teller] = None
        self._last_ns: Optional[int] = None

    def initialOffset(self) -> Dict[str, int]:  # noqa: N802 (Spark's name)
        return {**dict.fromkeys(self._names, 0), _LAST: 0}

    def latestOffset(self) -> Dict[str, int]:  # noqa: N802
        if self._logs is None:
            logs = self._logs = [_Log(reader) for reader in self._build_readers()]
            self._teller = Teller(self._folder)
            self._teller.tell(begun=True)
        else:
            logs = self._logs
        for log in logs:
            log.read_due()
        if self._last_ns is None and all(log.is_over for log in logs):
            self._last_ns = time.monotonic_ns()
            assert self._teller is not None, "made with the logs"
            self._teller.tell(
                polls=sum(log.polls for log in logs),
                items=sum(log.end for log in logs),
                ident_sum=sum(log.ident_sum for log in logs),
            )
        is_last = self._event_time is not None and self._last_ns is not None
        ends = (log.end for log in logs)
        return {**dict(zip(self._names, ends)), _LAST: int(is_last)}

    def partitions(self, start: Dict[str, int], end: Dict[str, int]) -> Sequence[InputPartition]:
        assert self._logs is not None, "offsets were asked for before"
        planned: List[InputPartition] = [
            Slice(log.between(start[name], end[name]))
            for name, log in zip(self._names, self._logs)
            if end[name] > start[name]
        ]
        if end[_LAST] > start[_LAST]:
            planned.append(Slice([], self._last_ns))
        return planned

    def commit(self, end: Dict[str, int]) -> None:
        for name, log in zip(self._names, self._logs or []):
            log.forget(end[name])

    def read(self, partition: InputPartition) -> Iterator[Tuple[Any, ...]]:
        assert isinstance(partition, Slice), "planned above"
        event = self._event_time
        if event is None:
            return iter(partition.items)
        rows = [(*item, event.key(item), event.at(item[1])) for item in partition.items]
        if partition.last_ns is not None:
            far_ns = partition.last_ns + int(event.last_after_s * 1e9)
            rows.append((-1, 0, 0, _LAST, event.at(far_ns)))
        return iter(rows)


def live(build_reader: Callable[[], LiveReader], *, timed: bool) -> Any:
    """The class to register with Spark, which makes one of it wherever it needs a reader."""

    class Live(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "live"

        def schema(self) -> str:
            return _ITEM_SCHEMA + (", key string, at timestamp" if timed else "")

        def streamReader(self, schema: Any) -> LiveReader:  # noqa: N802
            return build_reader()

    return Live
