"""Gives a worker of dramatiq messages over a second, the longest that it sleeps; says how late.

One message is anything from 0 to 1 s late. The mean of those that are spread over it varies less.
"""

import time

from dramatiq_tasks import nothing

SLEEPS_S = 1.0
MESSAGES = 8

nothing.broker.client.ping()
print("sent", flush=True)
begun, late = time.monotonic(), []
for number in range(MESSAGES):
    time.sleep(max(0.0, begun + number * SLEEPS_S / MESSAGES - time.monotonic()))
    sent_s = time.monotonic()
    nothing.send()
    nothing.broker.join(nothing.queue_name, interval=5)
    late.append(time.monotonic() - sent_s)
print("lateness", sum(late) / len(late), flush=True)
