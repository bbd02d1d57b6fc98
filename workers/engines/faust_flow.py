"""Maps the messages of a topic: faust_flow.py PORT. ``faust_flow.py PORT send`` sends one."""

import asyncio
import sys
from typing import Any

import faust
from aiokafka import AIOKafkaProducer

BROKER, TOPIC = f"127.0.0.1:{sys.argv[1]}", "messages"


async def send() -> None:
    """Sends a message once the producer knows where to."""
    async with AIOKafkaProducer(bootstrap_servers=BROKER) as producer:
        await producer.partitions_for(TOPIC)
        print("sent", flush=True)
        await producer.send_and_wait(TOPIC, b"hello")


def run() -> None:
    """Waits for messages, for ever."""
    app = faust.App(
        "waiting",
        broker=f"kafka://{BROKER}",
        value_serializer="raw",
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
    )

    @app.agent(app.topic(TOPIC))  # type: ignore[misc]
    async def handle(stream: Any) -> None:
        async for line in stream:
            print("Got", line.decode(), flush=True)

    worker = faust.Worker(app, loglevel="INFO", redirect_stdouts=False)
    worker.execute_from_commandline()


asyncio.run(send()) if sys.argv[2:] == ["send"] else run()
