"""Defers one job."""

import asyncio

from procrastinate_tasks import app, work


async def main() -> None:
    async with app.open_async():
        print("sent", flush=True)
        await work.defer_async()


asyncio.run(main())
