"""Input ``partitioned``: a source with a fixed number of partitions, shared out over workers."""

from typing import Any

from support import api, items


def get_flow(
    long_input: bool = False,
    heavy_map: bool = False,
    scheduled: bool = False,
    partitions: int = 16,
    items_per_partition: int = 20,
    interval: float = 0.25,
    burst: int = 1,
    idle: float = 0.0,
    heaviness: int = 40_000,
    silent: int = 0,
    window: float = 0.0,
    alarm: float = 0.0,
    seed: int = 1,
) -> Any:
    """A dataflow of ``partitions`` × ``items_per_partition`` random digits.

    ``long_input`` makes ``burst`` items of each partition due every ``interval`` seconds, and the
    source answers "nothing yet" until then; ``scheduled`` also tells bytewax when to ask next;
    ``idle`` is silence in seconds before the input ends; ``heavy_map`` adds a step that fills and
    sorts a list of ``heaviness`` integers for each item. The last ``silent`` partitions have no
    item at all and last ``idle`` seconds, while the others end with their last item. A ``window``
    of so many seconds holds the items of each partition; an ``alarm`` asks for each, once, to be
    woken so many seconds later.
    """
    parts = ["part-%03d" % number for number in range(partitions)]
    schedule = items.Schedule(interval if long_input else 0, burst, 0 if silent else idle)
    reader = items.ScheduledReader if scheduled else items.Reader

    def build_reader(part: str) -> items.Reader:
        number = int(part.rpartition("-")[2])
        if number >= partitions - silent:
            return reader(0, 0, items.Schedule(idle_s=idle), seed)
        return reader(number * items_per_partition, items_per_partition, schedule, seed)

    return api.build_dataflow(
        "partitioned",
        api.partitioned_source(parts, build_reader),
        items.steps(heavy_map, heaviness),
        api.sink(lambda: items.StdoutWriter(held=bool(window))),
        items.hold(items_per_partition, window, alarm),
    )
