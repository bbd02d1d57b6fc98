"""Waits for messages, as the first example of aiokafka does: aiokafka_consumer.py PORT [send]."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

BROKER, TOPIC = f"127.0.0.1:{sys.argv[1]}", "messages"


async def send() -> None:
    """Sends a message once the producer knows where to."""
    async with AIOKafkaProducer(bootstrap_servers=BROKER) as producer:
        await producer.partitions_for(TOPIC)
        print("sent", flush=True)
        await producer.send_and_wait(TOPIC, b"hello")


async def wait() -> None:
    """Waits, for ever."""
    async with AIOKafkaConsumer(TOPIC, bootstrap_servers=BROKER, group_id="group") as consumer:
        while not consumer.assignment():
            await asyncio.sleep(0.1)
        print("Waiting for messages", flush=True)
        async for _message in consumer:
            print("Got a message", flush=True)


asyncio.run(send() if sys.argv[2:] == ["send"] else wait())
