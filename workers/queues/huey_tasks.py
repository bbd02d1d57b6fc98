"""What a consumer of huey is asked to do: nothing."""

import os

from huey import RedisHuey

huey = RedisHuey(port=int(os.environ["REDIS_PORT"]))


@huey.task()
def nothing() -> None:
    """Does nothing."""
