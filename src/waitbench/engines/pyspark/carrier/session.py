"""Begins and ends Spark in this process: its JVM, its Python workers, and what they leave."""

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator

from pyspark import SparkContext
from pyspark.sql import SparkSession
from support import tree

_ENDS_WITHIN_S = 20.0


@contextmanager
def session(folder: str, workers: int) -> Iterator[Any]:
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
