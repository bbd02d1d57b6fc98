"""What a worker of arq is asked to do: to say when."""

import os
import time
from collections.abc import Mapping

from arq.connections import RedisSettings

SETTINGS = RedisSettings(port=int(os.environ["REDIS_PORT"]))


async def nothing(_context: Mapping[str, object]) -> float:
    """The time at which it is done, by a clock that all processes share."""
    return time.monotonic()


class Worker:
    """How the worker is set up: as arq does by itself."""

    functions = (nothing,)
    redis_settings = SETTINGS
