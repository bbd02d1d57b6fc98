"""Carries a topic's messages on Quix Streams; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS commit_interval=SECONDS consumer_poll_timeout=SECONDS

Its application polls one consumer for one message at a time, and takes each through all operators
before it polls again. It is stopped by the operator that is given the last message.
"""

import tempfile
from typing import Any, Callable, Optional, Sequence, Tuple

from quixstreams import Application, message_context
from support.broker_only import dynamic_source, kafka_source, partitioned_source
from support.carrying import sink
from support.loading import carried, settings
from support.topic import Topic

__all__ = ["build_dataflow", "dynamic_source", "kafka_source", "partitioned_source", "sink"]


def build_dataflow(
    _name: str,
    source: Topic,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Callable[[], Any],
) -> Callable[[], None]:
    """A straight dataflow: a topic, each ``(name, function)`` as an operator, an output."""

    def run() -> None:
        # A folder for state is made even where there is none.
        with tempfile.TemporaryDirectory(dir=".", prefix="quixstreams-") as folder:
            application = build_application(source, folder)
            add_operators(application, source, steps, output().write)
            application.run()

    return run


def build_application(topic: Topic, folder: str) -> Application:
    """An application without any state, that makes no topics, and is quiet."""
    return Application(
        broker_address=topic.broker,
        consumer_group=topic.name,
        auto_offset_reset="earliest",
        auto_create_topics=False,
        use_changelog_topics=False,
        state_dir=folder,
        consumer_extra_config=topic.settings.client,
        loglevel="ERROR",
        **{name: float(value) for name, value in settings().items()},
    )


def add_operators(
    application: Application,
    topic: Topic,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    write: Callable[[Any], None],
) -> None:
    """Reads the topic, and has each item go through all steps, and out."""
    parts = [topic.partition(number) for number in range(topic.partitions)]

    def read(value: bytes) -> Optional[Any]:
        part = parts[message_context().partition]
        item = part.got(value)
        if part.is_over and topic.is_over:
            application.stop()
        return item

    messages = application.topic(topic.name, key_deserializer="bytes", value_deserializer="bytes")
    stream = application.dataframe(messages).apply(read).filter(lambda item: item is not None)
    for _, step in steps:
        stream = stream.apply(step)
    stream.update(write)


if __name__ == "__main__":
    carried()()
