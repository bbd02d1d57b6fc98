"""One Apache Kafka broker, which is its own controller, on the loopback interface.

    KAFKA_JARS=FOLDER PORT=9092 python -m services.kafka.broker

Its data are in a folder of its own in the working folder, and gone when it ends. Kafka itself is a
child of this program, which does nothing but wait: a Java program does not notice that whoever
started it is gone. If this one is killed, the kernel kills Kafka (Linux).
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_NODE = 1
_CLUSTER = "d2FpdGJlbmNoLWthZmthMQ"
"""Any 16 bytes, as base64 has them."""
_JAVA = (
    "java",
    "-Xms128m",
    "-Xmx256m",
    # The least threads beside the broker's own; and of the compilers the one that is soon done, so
    # that the broker costs the same in each round.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
    "-Dlog4j2.disable.jmx=true",
)


def main() -> int:
    port, jars = int(os.environ["PORT"]), Path(os.environ["KAFKA_JARS"])
    data = Path("kafka-data").resolve()
    data.mkdir()
    try:
        return _run(port, jars, data)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _run(port: int, jars: Path, data: Path) -> int:
    """Runs Kafka to its end, which is an error, or to ours."""
    properties = data / "server.properties"
    properties.write_text(_properties(port, data), "utf-8")
    # All that formatting the folder by Kafka's own tool would do here, in a second Java.
    (data / "meta.properties").write_text(
        f"version=1\ncluster.id={_CLUSTER}\nnode.id={_NODE}\n", "utf-8"
    )
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            [*_JAVA, "-cp", f"{jars}/*", "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 -- there is no other thread yet
        )
        if os.environ.get("EXIT_WITH_STDIN"):
            threading.Thread(target=_watch_stdin, daemon=True).start()
        code = process.wait()
        print(f"Kafka ended by itself, with exit code {code}", file=sys.stderr)
        return 1
    finally:
        # None of its data will be read again, so it need not close anything.
        if process is not None:
            process.kill()
            process.wait()


def _properties(port: int, data: Path) -> str:
    """What one node needs, and what keeps it from doing anything else."""
    controller = _free_port()
    return "\n".join(
        (
            "process.roles=broker,controller",
            f"node.id={_NODE}",
            f"controller.quorum.voters={_NODE}@127.0.0.1:{controller}",
            f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names=CONTROLLER",
            f"log.dirs={data}",
            "num.network.threads=2",
            "num.io.threads=2",
            "num.recovery.threads.per.data.dir=1",
            "background.threads=1",
            "auto.create.topics.enable=false",
            # Topics of one run are of no use to the next.
            "log.segment.delete.delay.ms=1000",
            "log.cleaner.enable=false",
            "offsets.topic.num.partitions=1",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.num.partitions=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "share.coordinator.state.topic.num.partitions=1",
            "share.coordinator.state.topic.replication.factor=1",
            "share.coordinator.state.topic.min.isr=1",
            "group.initial.rebalance.delay.ms=0",
            "",
        )
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _watch_stdin() -> None:
    # Not by sys.stdin: its lock would be held when the interpreter ends.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _end(_number: int, _frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
