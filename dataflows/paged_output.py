"""Family ``paged-output``: a worker that hands items to a device, one by one or in pages."""

import atexit
import os
import tempfile
from typing import Any, Dict, List, Optional, Tuple, Union

from outputs.device import KINDS, Connection, FileDevice, Server
from outputs.paged import PagedWriter
from outputs.regular import RegularWriter
from outputs.settings import validate
from support import api, items, probe


def get_flow(
    output: str = "paged",
    page_size: int = 4096,
    buffer: int = 40_000,
    overflow: str = "block",
    device: str = "noop",
    items_per_worker: int = 20_000,
    message_bytes: int = 25,
    seed: int = 1,
) -> Any:
    """A dataflow in which each of the first 16 workers writes ``items_per_worker`` messages.

    A message has ``message_bytes`` bytes. ``output`` is ``regular`` (each message waits for the
    device's acknowledgement) or ``paged``; ``device`` is one of ``noop``, ``passthrough``, ``slow``
    and ``file``; ``overflow`` says what gives way when ``buffer`` messages wait: ``block``,
    ``drop-newest`` or ``drop-oldest``.
    """
    if output not in ("regular", "paged"):
        raise ValueError("output %r is not one of: regular, paged" % (output,))
    if device not in KINDS:
        raise ValueError("device %r is not one of: %s" % (device, ", ".join(KINDS)))
    if message_bytes < 12:
        raise ValueError(
            "message_bytes %r: must be at least 12, for the item's number" % (message_bytes,)
        )
    validate(page_size, buffer, overflow)
    build_reader = items.reader_of_each_worker(items_per_worker, items.Schedule(), seed)
    return api.build_dataflow(
        "paged-output",
        api.dynamic_source(build_reader),
        [],
        api.sink(lambda: MessageWriter(output, device, page_size, buffer, overflow, message_bytes)),
    )


class MessageWriter:
    """An item becomes a line of ``message_bytes`` bytes. Each worker has a device of its own.

    An item is out when the device has acknowledged it, or when it was shed for want of room: what a
    device that failed has not taken never came out.
    """

    def __init__(
        self,
        output: str,
        device: str,
        page_size: int,
        buffer: int,
        overflow: str,
        message_bytes: int,
    ) -> None:
        self._probe = probe.sink()
        self._padding = message_bytes - 1
        self._server: Optional[Server] = None
        self._waiting: Dict[bytes, Tuple[int, int]] = {}
        """``(ident, due_ns)`` of each line that the device has not acknowledged."""
        target: Union[Connection, FileDevice]
        if device == "file":
            # Deleted with the folder that the run is made in; by hand, with the process.
            self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 -- as long as the writer
            target = FileDevice(self._file.name)
        else:
            self._server = Server(device)
            target = self._server.connect()
        self._writer: Union[RegularWriter, PagedWriter] = (
            RegularWriter(target, acknowledged=self._are_out)
            if output == "regular"
            else PagedWriter(target, page_size, buffer, overflow, acknowledged=self._are_out)
        )
        atexit.register(self._close)

    def write(self, item: items.Item) -> None:
        ident, due_ns, _ = item
        line = b"%s\n" % str(ident).encode().rjust(self._padding, b".")
        self._waiting[line] = ident, due_ns
        self._writer.send(line)
        if isinstance(self._writer, PagedWriter) and self._writer.error is not None:
            raise self._writer.error

    def _are_out(self, page: List[bytes]) -> None:
        for line in page:
            self._probe.got(*self._waiting.pop(line))

    def _close(self) -> None:
        self._writer.close()
        stats = self._writer.stats()
        if stats.total != stats.sent + stats.dropped:
            # Nothing that Python raises this late would be seen; the harness sees the exit code.
            os._exit(1)
        if isinstance(self._writer, PagedWriter) and self._writer.error is None:
            for ident, _ in self._waiting.values():
                self._probe.got_on_time(ident)
        probe.add(
            messages_sent=stats.sent,
            messages_dropped=stats.dropped,
            messages_direct=stats.direct,
            bytes_held_peak=stats.bytes_held_peak,
        )
        if self._server is not None:
            self._server.close()
