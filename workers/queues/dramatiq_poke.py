"""Gives a worker of dramatiq messages, one after the other; says how late they were.

The first meets a worker that sleeps for up to a second, and is late at random. The others follow
within a second, and meet one that polls more often after work. Their mean varies less.
"""

import time

from dramatiq_tasks import nothing

EVERY_S = 0.125
MESSAGES = 8
MOST_S = 5.0

nothing.broker.client.ping()
print("sent", flush=True)
begun, late = time.monotonic(), []
for number in range(MESSAGES):
    time.sleep(max(0.0, begun + number * EVERY_S - time.monotonic()))
    sent_s = time.monotonic()
    if sent_s - begun > MOST_S:
        break  # waitbench waits for 10 s
    nothing.send()
    nothing.broker.join(nothing.queue_name, interval=5)
    late.append(time.monotonic() - sent_s)
print("lateness", sum(late) / len(late), flush=True)
