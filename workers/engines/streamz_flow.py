"""Maps the lines of a TCP source, in windows if asked: streamz_flow.py PORT WINDOW-SECONDS."""

import asyncio
import sys

from streamz import Stream
from tornado.ioloop import IOLoop


async def main(port: int, window_s: float) -> None:
    """Builds the flow on this thread's event loop, and waits for ever."""
    source = Stream.from_tcp(port, asynchronous=True, loop=IOLoop.current())
    lines = source.map(bytes.decode)
    if window_s:
        lines = lines.timed_window(window_s).filter(None)
    lines.sink(lambda item: print("Got", repr(item), flush=True))
    source.start()
    await asyncio.Event().wait()


asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
