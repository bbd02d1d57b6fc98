"""Adapts readers, writers and steps (see api.py) to the generations of bytewax's API.

==========  =====================================================================
generation  differences
==========  =====================================================================
0.16        ``next()`` returns one item or ``None``; classes ``PartitionedInput``, …
0.17        ``next_batch()`` returns a list; ``next_awake()`` returns the time of the next poll
0.18        classes renamed (``FixedPartitionedSource``, …); ``next_batch(sched)``;
            ``build(now, …)``; operators are functions of ``bytewax.operators``
0.19 and    ``next_batch()``; ``build(step_id, …)``
later
==========  =====================================================================

The generation is recognized by the names in the API, not by the version, because builds of commits
have the version of the release before them.

In every generation, a poll returns one item at most, so that polls per item can be compared. Timers
exist from 0.18 on.
"""

import inspect
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, List, Optional, Sequence, Tuple

from bytewax import inputs, outputs
from bytewax.dataflow import Dataflow

from . import probe
from .holding import Alarm, Hold

_RENAMED = hasattr(inputs, "FixedPartitionedSource")
_StatefulSource: Any = inputs.StatefulSourcePartition if _RENAMED else inputs.StatefulSource
_StatelessSource: Any = inputs.StatelessSourcePartition if _RENAMED else inputs.StatelessSource
_PartitionedSource: Any = inputs.FixedPartitionedSource if _RENAMED else inputs.PartitionedInput
_DynamicSource: Any = inputs.DynamicSource if _RENAMED else inputs.DynamicInput
_StatelessSink: Any = outputs.StatelessSinkPartition if _RENAMED else outputs.StatelessSink
_DynamicSink: Any = outputs.DynamicSink if _RENAMED else outputs.DynamicOutput

_ONE_ITEM_A_CALL = not hasattr(_StatefulSource, "next_batch")


class _Polled:
    """A source of one reader, with the polling methods of all generations."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._probe = probe.source()
        # Looked up once, because a release that spins polls 100,000 times a second.
        self._next_item = reader.next_item
        next_awake = getattr(reader, "next_awake", None)
        if next_awake is not None:
            self.next_awake = next_awake

    def next(self) -> Any:
        counters = self._probe
        if not counters.polls:
            probe.first_poll()
        counters.polls += 1
        try:
            item = self._next_item()
        except StopIteration:
            probe.end_of_input()
            raise
        if item is not None:
            counters.items += 1
            counters.ident_sum += item[0]
        return item

    def next_batch(self, *_sched: Any) -> List[Any]:
        # 0.18 passes the time at which the poll was due, which readers do not need.
        item = self.next()
        return [] if item is None else [item]

    def snapshot(self) -> Any:
        return None


# ``_Polled`` comes first, so that its methods replace bytewax's. bytewax checks for its own base
# class, whose ``next_awake`` also serves readers that have none.
_StatefulPolled: Any = type("_StatefulPolled", (_Polled, _StatefulSource), {})
_StatelessPolled: Any = type("_StatelessPolled", (_Polled, _StatelessSource), {})


def partitioned_source(parts: Sequence[str], build_reader: Callable[[str], Any]) -> Any:
    """A source of fixed partitions.

    The worker of a partition calls ``build_reader(part)`` once.
    """

    class Source(_PartitionedSource):  # type: ignore[misc]
        def list_parts(self) -> Any:
            return set(parts) if _ONE_ITEM_A_CALL else list(parts)

        def build_part(self, *args: Any) -> Any:
            # 0.16 and 0.17 pass (part, resume_state), later (now or step_id, part, resume_state).
            return _StatefulPolled(build_reader(args[-2]))

    return Source()


def dynamic_source(build_reader: Callable[[int, int], Any]) -> Any:
    """A source with a reader for each worker.

    Each worker calls ``build_reader(worker_index, worker_count)`` once.
    """

    class Source(_DynamicSource):  # type: ignore[misc]
        def build(self, *args: Any) -> Any:
            return _StatelessPolled(build_reader(args[-2], args[-1]))

    return Source()


def sink(build_writer: Callable[[], Any]) -> Any:
    """A sink with a writer for each worker."""

    class Writer(_StatelessSink):  # type: ignore[misc]
        def __init__(self) -> None:
            self._writer = build_writer()

        def write(self, item: Any) -> None:
            self._writer.write(item)

        def write_batch(self, items: List[Any]) -> None:
            for item in items:
                self._writer.write(item)

    class Sink(_DynamicSink):  # type: ignore[misc]
        def build(self, *_args: Any) -> Any:
            return Writer()

    return Sink()


def build_dataflow(
    name: str,
    source: Any,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Any,
    hold: Optional[Hold] = None,
) -> Any:
    """A dataflow without branches: a source, a hold, steps (``(name, function)``), an output."""
    if "flow_id" in inspect.signature(Dataflow).parameters:
        import bytewax.operators as op

        flow = Dataflow(name)
        stream = op.input("input", flow, source)
        if hold is not None:
            stream = _held(op, op.key_on("key", stream, hold.key), hold)
        for step_name, step in steps:
            stream = op.map(step_name, stream, step)
        op.output("output", stream, output)
        return flow
    flow = Dataflow()
    flow.input("input", source)
    if hold is not None:
        _add_window(flow, hold)
    for _, step in steps:
        flow.map(step)
    flow.output("output", output)
    return flow


def _add_window(flow: Any, hold: Hold) -> None:
    """Adds a window to a dataflow of 0.16 or 0.17. Raises ``ValueError`` for an alarm."""
    from bytewax import window

    if isinstance(hold, Alarm):
        raise ValueError("no step can ask to be woken before bytewax 0.18")
    key = hold.key
    windower = window.TumblingWindow(length=_length(hold), align_to=datetime.now(timezone.utc))
    flow.map(lambda item: (key(item), item))
    flow.collect_window("hold", window.SystemClockConfig(), windower)
    flow.flat_map(lambda keyed: keyed[1])


def _held(op: Any, keyed: Any, hold: Hold) -> Any:
    """The stream after a window or an alarm, from 0.18 on."""
    if isinstance(hold, Alarm):
        stateful = op.stateful if hasattr(op, "stateful") else op.unary
        return op.map("unkey", stateful("hold", keyed, _alarm_builder(op, hold)), _value)
    begin = datetime.now(timezone.utc)
    try:
        from bytewax.operators import windowing as window
    except ImportError:  # before 0.20
        from bytewax.operators import window

        windower = window.TumblingWindow(length=_length(hold), align_to=begin)
        closed = window.collect_window("hold", keyed, window.SystemClockConfig(), windower)
    else:
        windower = window.TumblingWindower(length=_length(hold), align_to=begin)
        closed = window.collect_window("hold", keyed, window.SystemClock(), windower).down
    # Each value is (key, (identity of the window, items of the window)).
    return op.flat_map("unkey", closed, lambda keyed: keyed[1][1])


def _alarm_builder(op: Any, alarm: Alarm) -> Callable[..., Any]:
    """A function that builds the state of a key, with a timer that rings once."""
    base: Any = op.StatefulLogic if hasattr(op, "StatefulLogic") else op.UnaryLogic

    class AlarmLogic(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self._at = datetime.now(timezone.utc) + timedelta(seconds=alarm.after_s)

        def on_item(self, *now_and_value: Any) -> Any:
            return [now_and_value[-1]], False

        def on_notify(self, *_sched: Any) -> Any:
            return [], True

        def on_eof(self) -> Any:
            return [], True

        def notify_at(self) -> datetime:
            return self._at

        def snapshot(self) -> Any:
            return None

    # 0.18 and 0.19 pass (now, resume_state), later releases (resume_state).
    return lambda *_: AlarmLogic()


def _value(keyed: Tuple[str, Any]) -> Any:
    return keyed[1]


def _length(hold: Any) -> timedelta:
    return timedelta(seconds=hold.length_s)
