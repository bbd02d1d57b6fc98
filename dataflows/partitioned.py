"""Input ``partitioned``: a source with a fixed number of partitions, divided among the workers."""

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

    * ``long_input``: ``burst`` items of each partition are due every ``interval`` seconds; until
      then the source has no item. Otherwise all items are due at once.
    * ``scheduled``: the source also tells bytewax when its next item is due.
    * ``idle``: the time in seconds between the last item and the end of the input.
    * ``heavy_map``: a step fills and sorts a list of ``heaviness`` integers for each item.
    * ``silent``: this number of partitions, the last ones, have no items and end after ``idle``
      seconds. All others then end with their last item.
    * ``window``: a stateful step holds the items of each partition in windows of this many seconds.
    * ``alarm``: a stateful step sets a timer of this many seconds for each partition, once.
    * ``seed``: the seed of the random digits.
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
