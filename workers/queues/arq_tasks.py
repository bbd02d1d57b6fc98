"""What a worker of arq is asked to do: nothing."""

import os
from collections.abc import Mapping

from arq.connections import RedisSettings

SETTINGS = RedisSettings(port=int(os.environ["REDIS_PORT"]))


async def nothing(_context: Mapping[str, object]) -> None:
    """Does nothing."""


class Worker:
    """How the worker is set up: as arq does by itself."""

    functions = (nothing,)
    redis_settings = SETTINGS
