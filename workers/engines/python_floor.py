"""The least that a flow can be: python_floor.py inline|queue PORT."""

import queue
import socket
import sys
import threading

lines = socket.create_connection(("127.0.0.1", int(sys.argv[2]))).makefile()
items = iter(lines)
if sys.argv[1] == "queue":
    between: "queue.SimpleQueue[str]" = queue.SimpleQueue()
    threading.Thread(target=lambda: [between.put(line) for line in lines], daemon=True).start()
    items = iter(between.get, None)
print("ready", flush=True)
for item in items:
    print("Got", item.strip(), flush=True)
