"""What a worker of taskiq is asked to do: to say that it was asked."""

import os

from taskiq_redis import ListQueueBroker

broker = ListQueueBroker(os.environ["BROKER"])


@broker.task
async def nothing() -> None:
    """Says that it was asked."""
    print("nothing was done", flush=True)
