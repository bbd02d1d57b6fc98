"""Collects lines from Spark's socket source, batch by batch: pyspark_flow.py PORT TRIGGER-MS."""

import sys
import time
from typing import Any

from pyspark.sql import SparkSession

PORT, TRIGGER_MS = sys.argv[1:]


def write(batch: Any, _number: int) -> None:
    """Called for each batch."""
    for row in batch.collect():
        print("Got", row.value, flush=True)


spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
lines = spark.readStream.format("socket").options(host="127.0.0.1", port=PORT).load()
query = (
    lines.writeStream.foreachBatch(write)
    .option("checkpointLocation", "checkpoint")
    .trigger(processingTime=f"{TRIGGER_MS} milliseconds")
    .start()
)
while query.status["message"] != "Waiting for data to arrive":
    time.sleep(0.1)
print("ready", flush=True)
query.awaitTermination()
