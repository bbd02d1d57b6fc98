"""Waits for messages, as a loop over the consumer does: kafka_python_consumer.py PORT [send]."""

import sys

from kafka import KafkaConsumer, KafkaProducer

BROKER, TOPIC = f"127.0.0.1:{sys.argv[1]}", "messages"


def send() -> None:
    """Sends a message once the producer knows where to."""
    producer = KafkaProducer(bootstrap_servers=BROKER)
    producer.partitions_for(TOPIC)
    print("sent", flush=True)
    producer.send(TOPIC, b"hello")
    producer.close()


def wait() -> None:
    """Waits, for ever."""
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=BROKER, group_id="group", auto_offset_reset="earliest"
    )
    while not consumer.assignment():
        consumer.poll(100)
    print("Waiting for messages", flush=True)
    for _message in consumer:
        print("Got a message", flush=True)


send() if sys.argv[2:] == ["send"] else wait()
