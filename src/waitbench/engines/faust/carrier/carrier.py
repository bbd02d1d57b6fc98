"""Carries a topic's messages on faust; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS broker_commit_interval=S broker_heartbeat_interval=S

One agent reads the topic, and has each item go through all steps. When it has had the last message,
it has the worker stop.
"""

import asyncio
import tempfile
from typing import Any, Callable, Coroutine, List, Sequence, Tuple

import faust
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
    """An agent that has each item go through all steps, and out."""

    def run() -> None:
        with tempfile.TemporaryDirectory(dir=".", prefix="faust-") as folder:
            app = build_app(source, folder)
            worker = faust.Worker(app, loglevel="ERROR", redirect_stdouts=False)
            worker.spinner = None  # it draws on the output while a worker starts
            agent = build_agent(source, [step for _, step in steps], output().write, worker.stop)
            app.agent(app.topic(source.name, key_type=bytes, value_type=bytes))(agent)
            worker.execute_from_commandline()

    return run


def build_app(topic: Topic, folder: str) -> Any:
    """An application that makes no topics, serves no pages, and is quiet."""
    return faust.App(
        topic.name,
        broker="kafka://" + topic.broker,
        consumer_auto_offset_reset="earliest",
        # How long the broker may hold an empty answer back, faust does not let one choose.
        broker_max_poll_records=topic.settings.batch_size,
        value_serializer="raw",
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        datadir=folder,
        **{name: float(value) for name, value in settings().items()},
    )


def build_agent(
    topic: Topic,
    functions: Sequence[Callable[[Any], Any]],
    write: Callable[[Any], None],
    stop: Callable[[], Coroutine[Any, Any, None]],
) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Reads the topic's stream to its end; ``stop`` is begun with the last message."""
    parts = [topic.partition(number) for number in range(topic.partitions)]
    # The loop itself keeps no task alive.
    stopping: List[Any] = []

    async def read(stream: Any) -> None:
        async for event in stream.events():
            part = parts[event.message.partition]
            item: Any = part.got(event.value)
            if item is not None:
                for function in functions:
                    item = function(item)
                write(item)
            elif part.is_over and topic.is_over:
                # Not awaited here: it waits until agents have ended.
                stopping.append(asyncio.ensure_future(stop()))

    return read


if __name__ == "__main__":
    carried()()
