"""The floor for a broker's messages: a bare consumer, and nothing around it."""

from waitbench.engines.carried import Carried
from waitbench.model.scenario import KAFKA


class Consumer(Carried):
    """``consumer@2.9.0``: a release of confluent-kafka, and a loop of ours that blocks in it."""

    name = "consumer"
    example = "2.16.1"
    package = "confluent-kafka"
    module = "confluent_kafka"
    smoke_test = "import confluent_kafka"
    only: str | None = KAFKA
    capabilities = frozenset({KAFKA})

    def remark(self) -> str:
        return "one consumer of all partitions, blocked in its poll; keeps no snapshots"


ENGINE = Consumer()
