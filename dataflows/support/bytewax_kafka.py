"""bytewax's own Kafka input, in each generation that has one; see bytewax_api.py.

``KafkaInput`` until 0.17, whose items are pairs of key and value (0.16: one a call);
``KafkaSource`` from 0.18 on, whose items are messages. Each has a consumer for each partition, and
gives it a millisecond whenever it is asked. What it gives is made an item, and counted, where it is
read.
"""

from typing import Any, List, Optional

from bytewax.connectors import kafka

from .bytewax_api import ONE_ITEM_A_CALL, StatefulSource, asked_again
from .topic import Partition, Topic

_Input: Any = getattr(kafka, "KafkaSource", None) or kafka.KafkaInput
_IS_PAIRS = not hasattr(kafka, "KafkaSource")


class _Read:
    """One partition: bytewax's own source of it, and what is read of it."""

    def __init__(self, inner: Any, partition: Partition) -> None:
        self._inner = inner
        self._partition = partition
        next_awake = asked_again()
        if next_awake is not None:
            self.next_awake = next_awake

    def next(self) -> Optional[Any]:
        """One item, as 0.16 asks."""
        self._begin()
        found = self._inner.next()
        return None if found is None else self._partition.got(found[1])

    def next_batch(self, *sched: Any) -> List[Any]:
        self._begin()
        got = self._partition.got
        found = self._inner.next_batch(*sched)
        values = [one[1] for one in found] if _IS_PAIRS else [one.value for one in found]
        return [item for item in map(got, values) if item is not None]

    def snapshot(self) -> Any:
        return self._inner.snapshot()

    def close(self) -> None:
        self._inner.close()

    def _begin(self) -> None:
        self._partition.counters.polls += 1
        if self._partition.is_over:
            raise StopIteration


_Part: Any = type("_Part", (_Read, StatefulSource), {})


def kafka_source(topic: Topic) -> Any:
    """bytewax's own source of a topic."""

    class Source(_Input):  # type: ignore[misc]
        def build_part(self, *args: Any) -> Any:
            # Until 0.17: (part, resume_state); later: (now or step_id, part, resume_state).
            number = int(args[-2].partition("-")[0])
            return _Part(super().build_part(*args), topic.partition(number, polled=True))

    # 0.16 takes no batches.
    batches = {} if ONE_ITEM_A_CALL else {"batch_size": topic.settings.batch_size}
    return Source([topic.broker], [topic.name], add_config=topic.settings.client, **batches)
