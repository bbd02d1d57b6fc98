"""The one place that knows the four generations of bytewax's source and sink API.

==========  =====================================================================
generation  how it differs
==========  =====================================================================
0.16        ``next()`` returns one item or ``None``; classes ``PartitionedInput``, …
0.17        ``next_batch()`` returns a list; ``next_awake()`` may say when to be asked again
0.18        classes renamed (``FixedPartitionedSource``, …); ``next_batch(sched)``;
            ``build(now, …)``; operators are functions of ``bytewax.operators``
0.19 and    ``next_batch()``; ``build(step_id, …)``
later
==========  =====================================================================

They are told apart by what they have, never by a version string: builds from git between two
releases all carry the number of the earlier one.

A workload is written against three small things of ours. A *reader* has ``next_item()``, which
returns one item, ``None`` for "nothing yet", or raises ``StopIteration`` at the end of its input;
it may have ``next_awake()``, which returns an aware ``datetime`` or ``None``. A *writer* has
``write(item)``. A *step* is a function of one item. Every generation gets at most one item per
poll, so that polls per item compare across generations.
"""

import inspect
from typing import Any, Callable, List, Sequence, Tuple

from bytewax import inputs, outputs
from bytewax.dataflow import Dataflow

from . import probe

_RENAMED = hasattr(inputs, "FixedPartitionedSource")
_StatefulSource: Any = inputs.StatefulSourcePartition if _RENAMED else inputs.StatefulSource
_StatelessSource: Any = inputs.StatelessSourcePartition if _RENAMED else inputs.StatelessSource
_PartitionedSource: Any = inputs.FixedPartitionedSource if _RENAMED else inputs.PartitionedInput
_DynamicSource: Any = inputs.DynamicSource if _RENAMED else inputs.DynamicInput
_StatelessSink: Any = outputs.StatelessSinkPartition if _RENAMED else outputs.StatelessSink
_DynamicSink: Any = outputs.DynamicSink if _RENAMED else outputs.DynamicOutput

ONE_ITEM_A_CALL = not hasattr(_StatefulSource, "next_batch")
SUPPORTS_NEXT_AWAKE = hasattr(_StatefulSource, "next_awake")


class _Polled:
    """The polling half of a source: a reader behind whichever of the methods this bytewax calls."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._probe = probe.source()
        # Bound once: these run on every poll, up to some hundred thousand times a second in a
        # spinning release.
        self._next_item = reader.next_item
        if hasattr(reader, "next_awake"):
            self.next_awake = reader.next_awake
        if not probe.ENABLED:
            self.next = self._next_item  # type: ignore[method-assign]

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
        # 0.18 says when it was due to ask; readers know that themselves.
        item = self.next()
        return [] if item is None else [item]

    def snapshot(self) -> Any:
        return None


# bytewax's own methods come first in the order of resolution unless ours are named first; the base
# class comes second so that bytewax's isinstance checks hold and its default ``next_awake`` serves
# readers that have none.
_StatefulPolled: Any = type("_StatefulPolled", (_Polled, _StatefulSource), {})
_StatelessPolled: Any = type("_StatelessPolled", (_Polled, _StatelessSource), {})


def partitioned_source(parts: Sequence[str], build_reader: Callable[[str], Any]) -> Any:
    """A source of fixed partitions.

    ``build_reader(part)`` is called once for each, on the worker that has it.
    """

    class Source(_PartitionedSource):  # type: ignore[misc]
        def list_parts(self) -> Any:
            return set(parts) if ONE_ITEM_A_CALL else list(parts)

        def build_part(self, *args: Any) -> Any:
            # 0.16 and 0.17: (part, resume_state); later: (now or step_id, part, resume_state).
            return _StatefulPolled(build_reader(args[-2]))

    return Source()


def dynamic_source(build_reader: Callable[[int, int], Any]) -> Any:
    """A source that every worker reads.

    ``build_reader(worker_index, worker_count)`` is called once on each.
    """

    class Source(_DynamicSource):  # type: ignore[misc]
        def build(self, *args: Any) -> Any:
            return _StatelessPolled(build_reader(args[-2], args[-1]))

    return Source()


def sink(build_writer: Callable[[], Any]) -> Any:
    """A sink with one writer per worker."""

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
    name: str, source: Any, steps: Sequence[Tuple[str, Callable[[Any], Any]]], output: Any
) -> Any:
    """A straight dataflow: a source, each ``(name, function)`` of ``steps``, and an output."""
    if "flow_id" in inspect.signature(Dataflow).parameters:
        import bytewax.operators as op

        flow = Dataflow(name)
        stream = op.input("input", flow, source)
        for step_name, step in steps:
            stream = op.map(step_name, stream, step)
        op.output("output", stream, output)
        return flow
    flow = Dataflow()
    flow.input("input", source)
    for _, step in steps:
        flow.map(step)
    flow.output("output", output)
    return flow
