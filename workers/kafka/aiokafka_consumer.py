"""Waits for messages, as the consumer of the first example of aiokafka does."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

TOPIC = "messages"


async def main(broker: str) -> None:
    """Makes the topic and waits, for ever."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, 1, 1)])
    await admin.close()
    async with AIOKafkaConsumer(TOPIC, bootstrap_servers=broker, group_id="group") as consumer:
        while not consumer.assignment():
            await asyncio.sleep(0.1)
        print("Waiting for messages", flush=True)
        async for _message in consumer:
            print("Got a message", flush=True)


asyncio.run(main(f"127.0.0.1:{sys.argv[1]}"))
