"""A worker whose file has phases, and its service."""

import sys

SERVICE = """
import socket, sys
server, connections = socket.create_server(("127.0.0.1", int(sys.argv[1]))), []
while True: connections.append(server.accept())
"""
CODE = """
import os, select, signal, socket, sys, time

spins = sys.argv[2]


def spin(when):
    while spins == when: pass


def connected():
    try: return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    except OSError: return None


def handle(*_):
    print("done", flush=True)
    spin("work")


signal.signal(signal.SIGUSR1, handle)
connection, has_been_lost = connected(), False
open("pid", "w").write(str(os.getpid()))
print("up", flush=True)
while True:
    while connection is None:
        if spins != "gone": time.sleep(0.1)
        connection = connected()
    if has_been_lost: spin("back")
    select.select([connection], [], [])
    connection.close()
    connection, has_been_lost = None, True
    if spins == "ends": sys.exit(7)
"""
"""A worker that is connected to its service, handles a signal, and spins from a moment on."""
PHASES = """
[[phase]]
name = "work"
poke = true
[[phase]]
name = "gone"
stop = "other"
[[phase]]
name = "back"
start = "other"
"""
TABLES = f"""{PHASES}seconds = 0.5
[services.other]
command = ["{sys.executable}", "-c", '''{SERVICE}''', "{{port}}"]
counters = ["echo", "requests 3"]
[poke]
command = ["sh", "-c", "kill -USR1 $(cat pid)"]
done = {{ log = "done" }}
"""
