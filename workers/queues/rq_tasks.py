"""What a worker of rq is asked to do: nothing."""


def nothing() -> None:
    """Does nothing."""
