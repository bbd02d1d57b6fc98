"""Sends one message to a topic."""

import asyncio
import sys

from aiokafka import AIOKafkaProducer


async def main(broker: str) -> None:
    """Sends it once the producer knows where to."""
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        await producer.partitions_for("messages")
        print("sent", flush=True)
        await producer.send_and_wait("messages", b"nothing")


asyncio.run(main(f"127.0.0.1:{sys.argv[1]}"))
