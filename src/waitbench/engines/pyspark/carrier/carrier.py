"""Carries the workloads on Spark's Structured Streaming; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS NAME=VALUE...

A query of micro-batches: the live source, a window if there is one, a Python UDF of all steps, and
``foreachBatch``, which collects a batch and writes it in this process.

Spark closes a window when the watermark, which is a second behind the newest event time, has passed
its end, and at no other time: not when the input ends, since for Spark no input does. So the source
says that it has ended by a last row, far enough ahead in event time to close all windows but its
own, which stays open, and is never seen. Punctuation, the field calls such a row.

The source tells when it begins and has ended (channel.py). Then the driver waits until all that
was read is processed, which includes the batch without data that closes windows, and ends the
query.
"""

import math
import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from channel import Listener
from live_source import ITEM, EventTime, LiveReader, live
from pyspark import SparkContext
from pyspark.sql import SparkSession, functions
from support import probe, tree
from support.carrying import sink
from support.holding import Alarm, Hold, Window
from support.loading import carried, settings, workers

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]

_LATE_S = 1
"""How far the watermark is behind: more than it takes to read all partitions one by one."""

_ENDS_WITHIN_S = 20.0

Step = Callable[[Any], Any]


class Source(NamedTuple):
    """Partitions by name, and what builds the readers of all, wherever they are read."""

    names: Sequence[str]
    build_readers: Callable[[], List[Any]]


def partitioned_source(parts: Sequence[str], build_reader: Callable[[str], Any]) -> Source:
    """A source of fixed partitions: one reader each."""
    return Source(parts, lambda: [build_reader(part) for part in parts])


def dynamic_source(build_reader: Callable[[int, int], Any]) -> Source:
    """A source that every worker reads: there is one."""
    return Source(["all"], lambda: [build_reader(0, 1)])


class Dataflow(NamedTuple):
    """What a query is made from."""

    source: Source
    steps: Sequence[Tuple[str, Step]]
    output: Callable[[], Any]
    window: Optional[Window]

    def run(self, workers: int, settings: Dict[str, str]) -> None:
        """Carries everything to its end."""
        probe.speak_for_all()
        with tempfile.TemporaryDirectory(dir=".", prefix="spark-") as relative:
            folder = os.path.abspath(relative)
            listener = Listener(folder)
            with _spark(folder, workers) as spark:
                output = (
                    self._rows(spark, folder)
                    .select(_all_in_one(self.steps)(*ITEM).alias("text"))
                    .writeStream.foreachBatch(_written(self.output()))
                    .trigger(processingTime="%s milliseconds" % settings["trigger_ms"])
                )
                _attend(output.start(), listener)

    def _rows(self, spark: Any, folder: str) -> Any:
        """The stream of items, as they come out of the window if there is one."""
        source, window = self.source, self.window
        event_time = None
        if window is not None:
            zero_ns = time.time_ns() - time.monotonic_ns()
            event_time = EventTime(window.key, zero_ns, 2 * (window.length_s + _LATE_S))
        reader = LiveReader(source.build_readers, source.names, folder, event_time)
        spark.dataSource.register(live(lambda: reader, timed=window is not None))
        rows = spark.readStream.format("live").load()
        return rows if window is None else _held(rows, window)


def build_dataflow(
    _name: str,
    source: Source,
    steps: Sequence[Tuple[str, Step]],
    output: Callable[[], Any],
    hold: Optional[Hold] = None,
) -> Dataflow:
    """A straight dataflow: a source, what holds its items, each ``(name, function)``, an output."""
    if isinstance(hold, Alarm):
        raise ValueError("no alarm is carried here")
    return Dataflow(source, steps, output, hold)


def _held(rows: Any, window: Window) -> Any:
    """The rows of each key in windows that begin now; they come out when theirs has closed."""
    length_us = math.ceil(window.length_s * 1e6)
    begin_us = time.time_ns() // 1000 % length_us
    length, begin = ("%d microseconds" % us for us in (length_us, begin_us))
    return (
        rows.withWatermark("at", "%d seconds" % _LATE_S)
        .groupBy(functions.window("at", length, startTime=begin), "key")
        .agg(functions.collect_list(functions.struct(*ITEM)).alias("items"))
        .select(functions.explode("items").alias("item"))
        .select("item.*")
    )


def _all_in_one(steps: Sequence[Tuple[str, Step]]) -> Any:
    """A UDF of all steps. What it gives is text, as all that the input workloads write is."""
    functions_only = [step for _, step in steps]

    def work(*fields: int) -> str:
        item: Any = fields
        for step in functions_only:
            item = step(item)
        if not isinstance(item, str):
            raise TypeError("the last step must give text here, and not %r" % (item,))
        return item

    return functions.udf(work, "string")


def _written(writer: Any) -> Callable[[Any, int], None]:
    def write(batch: Any, _number: int) -> None:
        for row in batch.collect():
            writer.write(row.text)

    return write


def _attend(query: Any, listener: Listener) -> None:
    """Reports what the source tells, and ends the query when its input has been processed.

    Raises what the query failed with.
    """

    def watch() -> None:
        try:
            query.awaitTermination()
        finally:
            listener.over()

    # What it raises is printed, and raised below once more.
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    counters = probe.source()
    while True:
        told = listener.next()
        if told is None:
            query.awaitTermination()
            raise RuntimeError("the query has ended before its input")
        if "begun" in told:
            probe.first_poll()
        else:
            probe.end_of_input()
            counters.polls = told["polls"]
            counters.items, counters.ident_sum = told["items"], told["ident_sum"]
        listener.heard()
        if "items" in told:
            break
    query.processAllAvailable()
    query.stop()
    watching.join()


@contextmanager
def _spark(folder: str, workers: int) -> Iterator[Any]:
    """Spark in local mode, with so many task slots; all that it writes is in ``folder``.

    When the block ends, so have all processes that it started.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.driver.extraJavaOptions": "-Djava.io.tmpdir=%s" % folder,
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        "spark.sql.streaming.checkpointLocation": os.path.join(folder, "checkpoints"),
        "spark.sql.session.timeZone": "UTC",
        # One partition of state for each task slot: the default of 200 is for a cluster.
        "spark.sql.shuffle.partitions": str(workers),
    }
    builder = SparkSession.builder.master("local[%d]" % workers).appName("waitbench")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        _end_jvm()
        tree.wait_for_all(_ENDS_WITHIN_S)


def _end_jvm() -> None:
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        # The JVM ends when its input does, which is this process's to close.
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    carried().run(workers(), settings())
