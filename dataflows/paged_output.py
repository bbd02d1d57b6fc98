"""Family ``paged-output``: a worker that hands each item to an output device, one by one or gathered into pages."""

import atexit
import os
import tempfile

from outputs.device import KINDS, FileDevice, Server
from outputs.writers import PagedWriter, RegularWriter, check
from support import api, items, probe

MAX_WORKERS = 16


def get_flow(
    output="paged",
    page_size=4096,
    buffer=40_000,
    overflow="block",
    device="noop",
    items_per_worker=20_000,
    message_bytes=25,
    seed=1,
):
    """A dataflow in which each of the first 16 workers writes ``items_per_worker`` messages of ``message_bytes`` bytes.

    ``output`` is ``regular`` (each message waits for the device's acknowledgement) or ``paged``; ``device`` one of ``noop``,
    ``passthrough`` and ``file``; ``overflow`` what gives way when ``buffer`` messages wait: ``block``, ``drop-newest`` or
    ``drop-oldest``.
    """
    if output not in ("regular", "paged"):
        raise ValueError("output %r is none of: regular, paged" % (output,))
    if device not in KINDS:
        raise ValueError("device %r is none of: %s" % (device, ", ".join(KINDS)))
    if message_bytes < 12:
        raise ValueError("message_bytes %r: must be at least 12, for the item's number" % (message_bytes,))
    check(page_size, buffer, overflow)

    def build_reader(worker_index, _worker_count):
        count = items_per_worker if worker_index < MAX_WORKERS else 0
        return items.Reader(worker_index * items_per_worker, count, items.Schedule(), seed)

    return api.build_dataflow(
        "paged-output",
        api.dynamic_source(build_reader),
        [],
        api.sink(lambda: MessageWriter(output, device, page_size, buffer, overflow, message_bytes)),
    )


class MessageWriter:
    """An item becomes a line of ``message_bytes`` bytes. Each worker has a device of its own."""

    def __init__(self, output, device, page_size, buffer, overflow, message_bytes):
        self._probe = probe.sink()
        self._padding = message_bytes - 1
        if device == "file":
            # Deleted with the folder that the run is made in; by hand, with the process.
            self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 -- as long as the writer
            self._server, target = None, FileDevice(self._file.name)
        else:
            self._server = Server(device)
            target = self._server.connect()
        self._writer = RegularWriter(target) if output == "regular" else PagedWriter(target, page_size, buffer, overflow)
        atexit.register(self._close)

    def write(self, item):
        ident, due_ns, _ = item
        self._writer.send(b"%s\n" % str(ident).encode().rjust(self._padding, b"."))
        error = getattr(self._writer, "error", None)
        if error is not None:
            raise error
        self._probe.got(ident, due_ns)

    def _close(self):
        self._writer.close()
        stats = self._writer.stats()
        if stats.total != stats.sent + stats.dropped:
            # Nothing that Python raises this late would be seen; the harness sees the exit code.
            os._exit(1)
        probe.add(messages_sent=stats.sent, messages_dropped=stats.dropped, bytes_held_peak=stats.bytes_held_peak)
        if self._server is not None:
            used = self._server.close()
            probe.add(helper_user_s=used.ru_utime, helper_system_s=used.ru_stime)
