"""Waits for messages, blocked in poll: confluent_kafka_consumer.py PORT [send]."""

import sys

from confluent_kafka import Consumer, Producer

BROKER, TOPIC = f"127.0.0.1:{sys.argv[1]}", "messages"


def send() -> None:
    """Sends a message once the producer knows where to."""
    producer = Producer({"bootstrap.servers": BROKER})
    producer.list_topics(TOPIC, timeout=10)
    print("sent", flush=True)
    producer.produce(TOPIC, b"hello")
    producer.flush()


def wait() -> None:
    """Waits, for ever."""
    consumer = Consumer(
        {"bootstrap.servers": BROKER, "group.id": "group", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC], on_assign=lambda *_: print("Waiting for messages", flush=True))
    while True:
        message = consumer.poll()
        if message is not None and message.error() is None:
            print("Got a message", flush=True)


send() if sys.argv[2:] == ["send"] else wait()
