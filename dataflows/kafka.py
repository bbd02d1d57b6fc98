"""Family ``kafka``: a worker that waits for a broker's messages."""

from typing import Any

from support import api, items
from support.topic import Settings, Topic


def get_flow(
    partitions: int = 16,
    items_per_partition: int = 20,
    interval: float = 0.0,
    burst: int = 1,
    idle: float = 0.0,
    silent: int = 0,
    fetch_wait_max_ms: int = 500,
    batch_size: int = 1000,
    seed: int = 1,
) -> Any:
    """A dataflow of the messages of a topic of ``partitions`` partitions.

    The environment variable ``BENCH_SERVICE_URL`` says where its producer is, which has the other
    parameters: what it sends, and when, is as in the families of input. ``fetch_wait_max_ms`` is
    the consumers' ``fetch.wait.max.ms``; ``batch_size`` is how many messages an engine takes from
    its client library at once, where it lets one choose.
    """
    del items_per_partition, interval, burst, idle, silent, seed  # the producer's
    topic = Topic(partitions, Settings(fetch_wait_max_ms, batch_size))
    return api.build_dataflow(
        "kafka",
        api.kafka_source(topic),
        items.steps(False, 0),
        api.sink(items.StdoutWriter),
    )
