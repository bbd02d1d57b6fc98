"""Output devices, which acknowledge what they are given, as a remote log or a terminal does.

``write`` returns when the device has acknowledged.

``noop`` is a process that acknowledges and does nothing; ``passthrough`` one that hands everything
on through a real pipe to a reader process first; ``slow`` one that takes a microsecond for each
byte; ``file`` a file. Any number of processes may connect to one server: each write arrives whole.
"""

import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from typing import Optional

SERVERS = ("noop", "passthrough", "slow")
KINDS = (*SERVERS, "file")
HEADER = struct.Struct("!I")
ACKNOWLEDGEMENT = b"\x06"
_ENDS_WITHIN_S = 10.0
_ANSWERS_WITHIN_S = 60.0


class DeviceError(Exception):
    """The device is gone, or refuses what it is given."""


class Connection:
    """A device behind a socket. One thread at a time.

    After a write that failed or was interrupted it is of no use: an acknowledgement that comes late
    would be taken for that of the next write.
    """

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_ANSWERS_WITHIN_S)
        self._broken: Optional[str] = None
        """Why nothing can be written any more."""
        try:
            self._socket.connect(address)
        except OSError as error:
            raise DeviceError("no output device at %s: %s" % (address, error)) from error

    def write(self, data: bytes) -> None:
        """Hands on ``data``. Raises ``DeviceError``, after which nothing is known of it."""
        if self._broken is not None:
            raise DeviceError("the connection is not used any more: %s" % self._broken)
        self._broken = "a write was interrupted"
        try:
            self._socket.sendall(HEADER.pack(len(data)) + data)
            answer = self._socket.recv(1)
        except OSError as error:
            self._broken = "the output device does not answer: %s" % error
            raise DeviceError(self._broken) from error
        if answer != ACKNOWLEDGEMENT:
            self._broken = (
                "the output device answered %r" % answer if answer else "the output device is gone"
            )
            raise DeviceError(self._broken)
        self._broken = None

    def close(self) -> None:
        self._socket.close()


class FileDevice:
    """Appends to a file, unbuffered: each write is a system call."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 -- as long as the device

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) :]
        except (OSError, ValueError) as error:
            raise DeviceError("the output file cannot be written: %s" % error) from error

    def close(self) -> None:
        self._file.close()


class Server:
    """A device in a process of its own, and the reader behind it if it has one.

    Each producer needs a connection of its own.
    """

    def __init__(self, kind: str, output: str = os.devnull) -> None:
        """``output`` is where the reader of ``passthrough`` puts what it reads."""
        if kind not in SERVERS:
            raise ValueError("device %r is not one of: %s" % (kind, ", ".join(SERVERS)))
        self._folder = tempfile.mkdtemp(prefix="bench-device-")
        self.address = os.path.join(self._folder, "socket")
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", program, kind, self.address, output],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None, "asked for"
        ready = self.process.stdout.readline()
        if not ready:
            raise DeviceError("the output device did not start")
        self.reader_pid: Optional[int] = int(ready) or None

    def connect(self) -> Connection:
        return Connection(self.address)

    def close(self) -> "resource.struct_rusage":
        """Ends it once everything has been read; returns what it and its reader used."""
        assert self.process.stdin is not None and self.process.stdout is not None, "asked for"
        self.process.stdin.close()
        self.process.stdout.close()
        _, _, used = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        shutil.rmtree(self._folder, ignore_errors=True)
        return used
