"""Gives a worker of taskiq one task."""

import asyncio

from taskiq_tasks import broker, nothing


async def main() -> None:
    """Sends it."""
    await broker.startup()
    print("sent", flush=True)
    await nothing.kiq()
    await broker.shutdown()


asyncio.run(main())
