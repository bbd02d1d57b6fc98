"""Maps the messages of a topic: ``python -m bytewax.run bytewax_flow:flow``, from 0.18 on."""

import os
from typing import Any

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSource
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow


class Source(KafkaSource):  # type: ignore[misc]
    """bytewax's source, which says when it is ready."""

    def build_part(self, *arguments: Any) -> Any:
        part = super().build_part(*arguments)
        print("Waiting for messages", flush=True)
        return part


flow = Dataflow("kafka")
messages = op.input("input", flow, Source([os.environ["KAFKA_BROKER"]], ["messages"]))
op.output("output", op.map("map", messages, lambda _message: "Got a message"), StdOutSink())
