"""A topic that stands in for one of a broker, as carriers read it."""

from types import SimpleNamespace
from typing import Any


class Part:
    """A partition: the values ``begin`` and ``end``, and items between them."""

    def __init__(self) -> None:
        self.is_over = False

    def got(self, value: Any) -> Any:
        self.is_over = value == "end"
        return None if value in ("begin", "end") else value


class MadeUpTopic:
    """Two partitions."""

    broker, name, partitions = "127.0.0.1:9", "t", 2
    settings = SimpleNamespace(client={"fetch.wait.max.ms": "100"}, batch_size=10)

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def partition(self, number: int) -> Part:
        assert number == len(self._parts)
        self._parts.append(Part())
        return self._parts[-1]

    @property
    def is_over(self) -> bool:
        return all(part.is_over for part in self._parts)


MESSAGES = ((0, "begin"), (1, "begin"), (0, "a"), (1, "b"), (1, "end"), (0, "c"), (0, "end"))
"""Partition and value of each."""
