"""Gives a worker of rq one job."""

import sys

from redis import Redis
from rq import Queue

queue = Queue(connection=Redis(port=int(sys.argv[1])))
print("sent", flush=True)
queue.enqueue("rq_tasks.nothing")
