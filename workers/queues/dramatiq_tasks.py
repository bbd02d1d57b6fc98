"""What a worker of dramatiq is asked to do: to say that it was asked."""

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=os.environ["BROKER"]))


@dramatiq.actor
def nothing() -> None:
    """Says that it was asked."""
    print("nothing was done", flush=True)
