"""Passes each line of a client to all others: feed.py PORT. ``feed.py PORT send`` sends one."""

import select
import socket
import sys
import time
from contextlib import suppress

ADDRESS = ("127.0.0.1", int(sys.argv[1]))


def send() -> None:
    """Sends one line."""
    with socket.create_connection(ADDRESS) as connection:
        print("sent", flush=True)
        connection.sendall(b"hello\n")
    # ``sent`` shortly before the end might be out of a buffer: lateness would count from the start.
    time.sleep(0.02)


def serve() -> None:
    """Blocks until a client connects, sends or leaves."""
    with socket.create_server(ADDRESS) as server:
        clients: list[socket.socket] = []
        while True:
            for ready in select.select([server, *clients], [], [])[0]:
                if ready is server:
                    clients.append(server.accept()[0])
                    continue
                data = b""
                with suppress(OSError):
                    data = ready.recv(4096)
                for other in clients:
                    with suppress(OSError):
                        if other is not ready:
                            other.sendall(data)
                if not data:
                    clients.remove(ready)
                    ready.close()


send() if sys.argv[2:] == ["send"] else serve()
