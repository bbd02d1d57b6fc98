"""Quix Streams: a Python library that polls one consumer, and has a data frame's interface.

Seen to work beside a broker of version 4.1: 3.0.0, 3.10.0, 3.20.0 and 3.28.0, each with the newest
confluent-kafka that it accepts: 2.4.0, 2.4.0, 2.9.0 and 2.12.2. Of 2.4.0, which releases until 3.11
ask for, there are wheels for Python 3.12 and earlier only.
"""

from collections.abc import Mapping
from types import MappingProxyType

from waitbench.engines.base import Knob
from waitbench.engines.carried import Carried
from waitbench.model.scenario import KAFKA


class QuixStreams(Carried):
    """``quixstreams@VERSION``: an application of its own, with one consumer in a group."""

    name = "quixstreams"
    example = "3.28.0"
    package = "quixstreams"
    module = "quixstreams"
    smoke_test = "from quixstreams import Application, message_context"
    settings: Mapping[str, Knob] = MappingProxyType(
        {"commit_interval": Knob(default="5.0"), "consumer_poll_timeout": Knob(default="1.0")}
    )
    """Seconds between commits, and that a poll waits for a message at most."""
    only: str | None = KAFKA
    capabilities = frozenset({KAFKA})

    def remark(self) -> str:
        return "one consumer in a group of its own, polled for a message at a time; commits"


ENGINE = QuixStreams()
