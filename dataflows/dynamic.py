"""Input ``dynamic``: every worker reads a source of its own."""

from typing import Any

from support import api, items


def get_flow(
    long_input: bool = False,
    heavy_map: bool = False,
    scheduled: bool = False,
    items_per_worker: int = 20,
    interval: float = 0.25,
    burst: int = 1,
    idle: float = 0.0,
    heaviness: int = 40_000,
    window: float = 0.0,
    alarm: float = 0.0,
    seed: int = 1,
) -> Any:
    """A dataflow in which each of the first 16 workers reads ``items_per_worker`` random digits.

    The other parameters are as in ``partitioned``.
    """
    schedule = items.Schedule(interval if long_input else 0, burst, idle)
    reader = items.ScheduledReader if scheduled else items.Reader
    return api.build_dataflow(
        "dynamic",
        api.dynamic_source(items.reader_of_each_worker(items_per_worker, schedule, seed, reader)),
        items.steps(heavy_map, heaviness),
        api.sink(lambda: items.StdoutWriter(held=bool(window))),
        items.hold(items_per_worker, window, alarm),
    )
