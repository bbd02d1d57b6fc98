"""What carriers share of engines that have one worker, and wait by themselves; see api.py."""

from typing import Any, Callable, List, Sequence

from .reading import WatchedReader

Sources = Callable[[], List[WatchedReader]]
"""Builds the readers, where they are read: called once."""


def partitioned_source(parts: Sequence[str], build_reader: Callable[[str], Any]) -> Sources:
    """A source of fixed partitions: one reader each."""
    return lambda: [WatchedReader(build_reader(part)) for part in parts]


def dynamic_source(build_reader: Callable[[int, int], Any]) -> Sources:
    """A source that every worker reads: there is one."""
    return lambda: [WatchedReader(build_reader(0, 1))]


def sink(build_writer: Callable[[], Any]) -> Callable[[], Any]:
    """A sink with one writer."""
    return build_writer
