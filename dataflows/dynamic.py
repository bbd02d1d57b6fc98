"""Family ``dynamic``: a source that every worker reads on its own."""

from support import api, items

MAX_WORKERS = 16


class NoItems:
    """The reader of a worker beyond the first ``MAX_WORKERS``: at its end from the start."""

    def next_item(self):
        raise StopIteration


def get_flow(
    long_input=False,
    heavy_map=False,
    items_per_worker=20,
    interval=0.25,
    heaviness=40_000,
    seed=1,
):
    """A dataflow in which each of the first 16 workers reads ``items_per_worker`` random digits.

    ``long_input``, ``heavy_map``, ``interval`` and ``heaviness`` are as in the family ``partitioned``.
    """

    def build_reader(worker_index, _worker_count):
        if worker_index >= MAX_WORKERS:
            return NoItems()
        first_ident = worker_index * items_per_worker
        return items.Reader(first_ident, items_per_worker, interval if long_input else 0, seed)

    steps = [("heavy", items.heavy(heaviness))] if heavy_map else []
    steps.append(("to_text", items.to_text))
    return api.build_dataflow("dynamic", api.dynamic_source(build_reader), steps, api.sink(items.StdoutWriter))
