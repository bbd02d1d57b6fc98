"""Output devices, which acknowledge what they are given, as a remote log or a terminal does.

``write`` returns when the device has acknowledged.

``noop`` is a process that acknowledges and does nothing; ``passthrough`` one that hands everything
on through a real pipe to a reader process first; ``user`` the same through a terminal; ``slow`` one
that takes a microsecond for each byte. Any number of processes may connect to one server: each
write arrives whole.
"""

import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

KINDS = ("noop", "passthrough", "user", "slow")
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
            raise DeviceError(f"no output device at {address}: {error}") from error

    def write(self, data: bytes) -> None:
        """Hands on ``data``. Raises ``DeviceError``, after which nothing is known of it."""
        if self._broken is not None:
            raise DeviceError(f"the connection is not used any more: {self._broken}")
        self._broken = "a write was interrupted"
        try:
            self._socket.sendall(HEADER.pack(len(data)) + data)
            answer = self._socket.recv(1)
        except OSError as error:
            self._broken = f"the output device does not answer: {error}"
            raise DeviceError(self._broken) from error
        if answer != ACKNOWLEDGEMENT:
            self._broken = (
                f"the output device answered {answer!r}" if answer else "the output device is gone"
            )
            raise DeviceError(self._broken)
        self._broken = None

    def close(self) -> None:
        self._socket.close()


class Server:
    """A device in a process of its own, and the reader behind it if it has one.

    Each producer needs a connection of its own.
    """

    def __init__(self, kind: str, output: str = os.devnull) -> None:
        """``output`` is where the reader of ``passthrough`` or ``user`` puts what it reads."""
        if kind not in KINDS:
            raise ValueError("device {!r} is not one of: {}".format(kind, ", ".join(KINDS)))
        self._folder = Path(tempfile.mkdtemp(prefix="bench-device-"))
        self.address = str(self._folder / "socket")
        program = Path(__file__).with_name("device_server.py")
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program), kind, self.address, output],
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
