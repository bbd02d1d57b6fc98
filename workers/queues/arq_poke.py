"""Gives a worker of arq jobs over the 0.5 s between two of its polls; says how late they were.

One job is anything from 0 to 0.5 s late. The mean of jobs that are spread over a poll is not.
"""

import asyncio
import time

from arq import create_pool
from arq_tasks import SETTINGS

POLLS_EVERY_S = 0.5
JOBS = 8


async def main() -> None:
    """Sends them, and waits until all are done."""
    redis = await create_pool(SETTINGS)
    print("sent", flush=True)
    begun, sent = time.monotonic(), []
    for number in range(JOBS):
        await asyncio.sleep(begun + number * POLLS_EVERY_S / JOBS - time.monotonic())
        sent.append((time.monotonic(), await redis.enqueue_job("nothing")))
    late = [await job.result(poll_delay=0.05) - sent_s for sent_s, job in sent if job]
    print("lateness", sum(late) / len(late), flush=True)


asyncio.run(main())
