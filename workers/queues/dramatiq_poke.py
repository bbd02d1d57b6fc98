"""Gives a worker of dramatiq one message."""

from dramatiq_tasks import nothing

nothing.broker.client.ping()
print("sent", flush=True)
nothing.send()
