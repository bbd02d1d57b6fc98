"""Gives a worker of arq one job."""

import asyncio

from arq import create_pool
from arq_tasks import SETTINGS


async def main() -> None:
    """Sends it."""
    redis = await create_pool(SETTINGS)
    print("sent", flush=True)
    await redis.enqueue_job("nothing")


asyncio.run(main())
