"""Carries the workloads on streamz; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS poll_interval=SECONDS

Everything is in one thread, as streamz has it for ``asynchronous=True``: sources are coroutines of
one event loop, and an item goes through all nodes in one call of its source, which awaits what they
ask it to.
"""

import asyncio
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import toolz
from streamz import Source, Stream, timed_window, union
from support.carrying import Sources, dynamic_source, partitioned_source, sink
from support.holding import Alarm, Hold, Key
from support.loading import carried, settings
from support.reading import WatchedReader
from tornado.ioloop import IOLoop

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]

poll_interval_s = 0.0
"""How long a source sleeps that had nothing; 0 for until it has something."""


class FromReader(Source):  # type: ignore[misc]
    """A source that sleeps on the event loop until its reader has something to say."""

    def __init__(self, reader: WatchedReader) -> None:
        self._reader = reader
        self.ended = asyncio.get_running_loop().create_future()
        # Without the loop, a source runs on one of its own in another thread, asynchronous or not.
        super().__init__(asynchronous=True, loop=IOLoop.current())

    async def run(self) -> None:
        """Reads to the end. What a step raises would otherwise only be logged."""
        try:
            await super().run()
        except Exception as error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)

    async def _run(self) -> None:
        reader = self._reader
        item = reader.next_item()
        if item is not None:
            await asyncio.gather(*self._emit(item))
        elif reader.is_over:
            self.stop()
        else:
            await asyncio.sleep(poll_interval_s or max(reader.wait_s, 0))


class Windows(timed_window):  # type: ignore[misc]
    """streamz' own windows of time, of which the end of the input closes the one that is open."""

    _buffer: List[Any]

    def close(self) -> List[Any]:
        """Emits what the window holds; returns what is to be awaited."""
        held, self._buffer = self._buffer, []
        return list(self._emit(held))


class Alarms(Stream):  # type: ignore[misc]
    """Passes items on, and asks the event loop for each key, once, to be called later."""

    def __init__(self, upstream: Any, alarm: Alarm) -> None:
        self._alarm = alarm
        self._timers: Dict[str, Any] = {}
        super().__init__(upstream, ensure_io_loop=True)

    def update(self, item: Any, who: Any = None, metadata: Any = None) -> List[Any]:
        """Called by streamz for each item; returns what is to be awaited."""
        key = self._alarm.key(item)
        if key not in self._timers:
            self._timers[key] = self.loop.call_later(self._alarm.after_s, self._wake, key)
        return list(self._emit(item, metadata=metadata))

    def _wake(self, key: str) -> None:
        self._timers[key] = None

    def close(self) -> List[Any]:
        """Cancels all timers; returns what is to be awaited."""
        for timer in self._timers.values():
            if timer is not None:
                self.loop.remove_timeout(timer)
        self._timers.clear()
        return []


class Dataflow:
    """What is to be built on the event loop, once that runs."""

    def __init__(
        self,
        readers: Sources,
        steps: Sequence[Tuple[str, Callable[[Any], Any]]],
        build_writer: Callable[[], Any],
        hold: Optional[Hold],
    ) -> None:
        self._readers = readers
        self._steps = steps
        self._build_writer = build_writer
        self._hold = hold

    async def run(self) -> None:
        """Carries everything to its end. Raises what a step has raised."""
        sources = [FromReader(reader) for reader in self._readers()]
        stream = union(*sources)
        held: Union[Windows, Alarms, None] = None
        if isinstance(self._hold, Alarm):
            stream = held = Alarms(stream, self._hold)
        elif self._hold is not None:
            held = Windows(stream, self._hold.length_s)
            # A window without items is emitted, too; ``flatten`` cannot take it before 0.6.6.
            stream = held.filter(None).map(by_key, self._hold.key).flatten()
        for name, step in self._steps:
            stream = stream.map(step, stream_name=name)
        stream.sink(self._build_writer().write)
        for source in sources:
            source.start()
        await asyncio.gather(*(source.ended for source in sources))
        if held is not None:
            await asyncio.gather(*held.close())


def by_key(items: Sequence[Any], key: Key) -> List[Any]:
    """The items of a window, those of each key together."""
    return list(toolz.concat(toolz.groupby(key, items).values()))


def build_dataflow(
    _name: str,
    source: Sources,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Callable[[], Any],
    hold: Optional[Hold] = None,
) -> Dataflow:
    """A straight dataflow: a source, what holds its items, each ``(name, function)``, an output."""
    return Dataflow(source, steps, output, hold)


if __name__ == "__main__":
    poll_interval_s = float(settings()["poll_interval"])
    asyncio.run(carried().run())
