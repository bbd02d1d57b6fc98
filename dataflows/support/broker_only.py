"""What carriers share of engines that read a broker's topics, and nothing else; see api.py."""

from typing import Any, NoReturn

from .topic import Topic


def partitioned_source(*_arguments: Any) -> NoReturn:
    """There is none. Raises ``ValueError``."""
    raise ValueError("this engine reads from a broker, and from nothing else: see docs/kafka.md")


dynamic_source = partitioned_source


def kafka_source(topic: Topic) -> Topic:
    """The topic itself."""
    return topic
