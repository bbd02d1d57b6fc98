"""Maps the messages of a topic: quixstreams_flow.py PORT; with ``send``, it sends one."""

import sys

from confluent_kafka import Producer
from quixstreams import Application

BROKER, TOPIC = f"127.0.0.1:{sys.argv[1]}", "messages"


def send() -> None:
    """Sends a message once the producer knows where to."""
    producer = Producer({"bootstrap.servers": BROKER})
    producer.list_topics(TOPIC, timeout=10)
    print("sent", flush=True)
    producer.produce(TOPIC, b"hello")
    producer.flush()


def run() -> None:
    """Waits for messages, for ever."""
    app = Application(
        broker_address=BROKER,
        consumer_group="waiting",
        auto_offset_reset="earliest",
        auto_create_topics=False,
        use_changelog_topics=False,
    )
    messages = app.topic(TOPIC, value_deserializer="bytes")
    lines = app.dataframe(messages).apply(bytes.decode)
    lines.update(lambda line: print("Got", line, flush=True))
    app.run()


send() if sys.argv[2:] == ["send"] else run()
