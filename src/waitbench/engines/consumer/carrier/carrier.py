"""Carries a topic's messages from a bare consumer to a function; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS
"""

from typing import Any, Callable, List, Sequence, Tuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from support.broker_only import dynamic_source, kafka_source, partitioned_source
from support.carrying import sink
from support.loading import carried
from support.topic import Topic

__all__ = ["build_dataflow", "dynamic_source", "kafka_source", "partitioned_source", "sink"]


def build_dataflow(
    _name: str,
    source: Topic,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Callable[[], Any],
) -> Callable[[], None]:
    """A loop: each message that is an item goes through all steps, and out."""

    def run() -> None:
        parts = [source.partition(number) for number in range(source.partitions)]
        settings = {
            "bootstrap.servers": source.broker,
            # No group is formed: partitions are assigned, as a worker with snapshots would.
            "group.id": source.name,
            "enable.auto.commit": "false",
        }
        consumer = Consumer({**settings, **source.settings.client})
        places: List[TopicPartition] = [
            TopicPartition(source.name, number, OFFSET_BEGINNING) for number in range(len(parts))
        ]
        consumer.assign(places)
        write = output().write
        functions = [step for _, step in steps]
        while not source.is_over:
            message = consumer.poll()
            if message is None:
                continue
            if message.error() is not None:
                raise RuntimeError(message.error().str())
            item: Any = parts[message.partition()].got(message.value())
            if item is not None:
                for function in functions:
                    item = function(item)
                write(item)
        consumer.close()

    return run


if __name__ == "__main__":
    carried()()
