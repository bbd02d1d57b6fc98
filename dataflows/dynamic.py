"""Family ``dynamic``: a source that every worker reads on its own."""

from support import api, items

MAX_WORKERS = 16


def get_flow(
    long_input=False,
    heavy_map=False,
    scheduled=False,
    items_per_worker=20,
    interval=0.25,
    burst=1,
    idle=0.0,
    heaviness=40_000,
    seed=1,
):
    """A dataflow in which each of the first 16 workers reads ``items_per_worker`` random digits.

    The other parameters are as in the family ``partitioned``.
    """
    schedule = items.Schedule(interval if long_input else 0, burst, idle)
    reader = items.ScheduledReader if scheduled else items.Reader

    def build_reader(worker_index, _worker_count):
        if worker_index >= MAX_WORKERS:
            return items.Reader(0, 0, items.Schedule(), seed)
        return reader(worker_index * items_per_worker, items_per_worker, schedule, seed)

    return api.build_dataflow(
        "dynamic", api.dynamic_source(build_reader), items.steps(heavy_map, heaviness), api.sink(items.StdoutWriter)
    )
