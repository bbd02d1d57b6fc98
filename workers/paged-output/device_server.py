"""The process behind the devices ``noop``, ``passthrough``, ``user`` and ``slow``; see device.py.

    python device_server.py KIND SOCKET OUTPUT

Reads frames (4 bytes of length, then that many) from every connection and answers each with one
byte when it is dealt with. Prints the reader's process id, or 0, when it can be connected to; ends
when its standard input does.
"""

import errno
import os
import selectors
import socket
import struct
import sys
import time
import tty
from contextlib import suppress
from pathlib import Path

HEADER = struct.Struct("!I")
ACKNOWLEDGEMENT = b"\x06"
SLOW_BYTE_S = 0.000_001


def main() -> None:
    kind, address, output = sys.argv[1:4]
    reader, pipe = 0, -1
    if kind == "passthrough":
        reader, pipe = start_reader(output, os.pipe())
    elif kind == "user":
        reader, pipe = start_reader(output, open_terminal())
    byte_s = SLOW_BYTE_S if kind == "slow" else 0.0
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(128)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
    print(reader, flush=True)
    unread: dict[socket.socket, bytearray] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                unread[connection] = bytearray()
                selector.register(connection, selectors.EVENT_READ)
            elif key.fd == sys.stdin.fileno():
                if pipe >= 0:
                    os.close(pipe)
                    os.waitpid(reader, 0)
                return
            else:
                assert isinstance(key.fileobj, socket.socket), "registered above"
                if not serve(key.fileobj, unread[key.fileobj], pipe, byte_s):
                    selector.unregister(key.fileobj)
                    del unread[key.fileobj]
                    key.fileobj.close()


def serve(connection: socket.socket, buffer: bytearray, pipe: int, byte_s: float) -> bool:
    """Deals with what has come from one connection, in so many seconds a byte.

    Returns whether there may be more.
    """
    data = connection.recv(1 << 20)
    if not data:
        return False
    buffer += data
    while len(buffer) >= HEADER.size:
        end = HEADER.size + HEADER.unpack_from(buffer)[0]
        if len(buffer) < end:
            break
        if pipe >= 0:
            view = memoryview(bytes(buffer[HEADER.size : end]))
            while view:
                view = view[os.write(pipe, view) :]
        if byte_s:
            time.sleep(byte_s * (end - HEADER.size))
        del buffer[:end]
        try:
            connection.sendall(ACKNOWLEDGEMENT)
        except OSError:
            return False
    return True


def open_terminal() -> tuple[int, int]:
    """A terminal that leaves bytes as they are: the end that is read, and the one to write to."""
    reading, writing = os.openpty()
    tty.setraw(writing)
    return reading, writing


def start_reader(output: str, ends: tuple[int, int]) -> tuple[int, int]:
    """A process that reads ``ends[0]`` to its end into a file: its id, and the end to write to."""
    reading, writing = ends
    pid = os.fork()
    if pid:
        os.close(reading)
        return pid, writing
    os.close(writing)
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    while True:
        try:
            data = os.read(reading, 1 << 16)
        except OSError:
            data = b""  # so a terminal ends
        if not data:
            os._exit(0)
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]


def remove(address: str) -> None:
    """Takes away the socket and the folder made for it: whoever made it may have been killed."""
    with suppress(OSError):
        Path(address).unlink()
        Path(address).parent.rmdir()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        # The reader is gone: so are we, and whoever waits for an answer meets the end of its
        # connection.
        sys.exit(1)
    finally:
        remove(sys.argv[2])
