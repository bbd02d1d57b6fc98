"""What a worker of rq, or of huey, is asked to do: nothing."""


def nothing() -> None:
    """Does nothing."""
