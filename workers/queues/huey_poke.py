"""Gives a consumer of huey one task."""

from huey_tasks import huey, nothing

huey.pending_count()  # it is connected
print("sent", flush=True)
nothing()
