"""Family ``partitioned``: a source with a fixed number of partitions, shared out over the workers."""

from support import api, items


def get_flow(
    long_input=False,
    heavy_map=False,
    partitions=16,
    items_per_partition=20,
    interval=0.25,
    heaviness=40_000,
    seed=1,
):
    """A dataflow of ``partitions`` × ``items_per_partition`` random digits.

    ``long_input`` makes an item of each partition due every ``interval`` seconds and answers "nothing yet" until then;
    ``heavy_map`` adds a step that fills and sorts a list of ``heaviness`` integers for each item.
    """
    parts = ["part-%03d" % number for number in range(partitions)]

    def build_reader(part):
        first_ident = parts.index(part) * items_per_partition
        return items.Reader(first_ident, items_per_partition, interval if long_input else 0, seed)

    steps = [("heavy", items.heavy(heaviness))] if heavy_map else []
    steps.append(("to_text", items.to_text))
    return api.build_dataflow("partitioned", api.partitioned_source(parts, build_reader), steps, api.sink(items.StdoutWriter))
