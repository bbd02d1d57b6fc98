"""Runs one Apache Kafka broker, which is its own controller, on the loopback interface.

    broker.py serve PORT FOLDER    works in FOLDER; FOLDER/jars says where Kafka's files are
    broker.py topic PORT           makes the topic "messages", of one partition, if it is not there

Maven fetches what pom.xml names, once, into the folder WAITBENCH_CACHE. With the standard library
only, as any Python may run it. Kafka is a child of this program, which only waits: a Java program
does not notice that whoever started it is gone. If this one is killed, the kernel kills Kafka.
"""

import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOPIC = b"messages"
_LEAST_JAVA = 17
_HINT = "This would install it: apt-get install openjdk-17-jre-headless maven"
_PR_SET_PDEATHSIG = 1
_CREATE_TOPICS, _VERSION = 19, 2
_ALREADY_EXISTS = 36
# The least threads beside the broker's own; and of the compilers the one that is soon done, so that
# the broker costs the same in each round.
_JAVA = (
    "java", "-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData", "-Djava.awt.headless=true", "-Dlog4j2.disable.jmx=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)  # fmt: skip


def serve(port: int, folder: Path) -> None:
    """Runs Kafka to its end, which is an error, or to ours."""
    jars = fetched(Path(os.environ["WAITBENCH_CACHE"]) / "services")
    (folder / "jars").write_text(str(jars), "utf-8")
    data = folder / "data"
    data.mkdir()
    settings = data / "server.properties"
    settings.write_text(properties(port, data), "utf-8")
    # All that formatting the folder by Kafka's own tool would do here, in a second Java. The id is
    # any 16 bytes, as base64 has them.
    (data / "meta.properties").write_text(
        "version=1\ncluster.id=d2FpdGJlbmNoLWthZmthMQ\nnode.id=1\n"
    )
    process = None
    signal.signal(signal.SIGTERM, _end)
    try:
        process = subprocess.Popen(
            [*_JAVA, "-cp", f"{jars}/*", "kafka.Kafka", str(settings)],
            stdin=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 -- there is no other thread
        )
        sys.exit(f"Kafka ended by itself, with exit code {process.wait()}")
    finally:
        # None of its data will be read again, so it need not close anything.
        if process is not None:
            process.kill()
            process.wait()


def fetched(cache: Path) -> Path:
    """The folder of Kafka's files, which are fetched if they are not there."""
    _require_java()
    wanted = (HERE / "jars.sha256").read_text("utf-8")
    jars = cache / f"kafka-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with jars.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            _fetch(jars, dict(line.split()[::-1] for line in wanted.splitlines()))
    return jars


def _require_java() -> None:
    java = shutil.which("java")
    if java is None:
        sys.exit(f"A Kafka broker needs Java, and there is none. {_HINT}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', said)
    if version and int(version[1]) < _LEAST_JAVA:
        sys.exit(f"Kafka needs Java {_LEAST_JAVA} or later, and this is {version[1]}. {_HINT}")


def _fetch(jars: Path, wanted: "dict[str, str]") -> None:
    if shutil.which("mvn") is None:
        sys.exit(f"Maven (mvn) fetches Kafka, and there is none. {_HINT}")
    part, repository = jars.with_suffix(".part"), jars.with_suffix(".maven")
    for left in (part, repository):
        shutil.rmtree(left, ignore_errors=True)
    try:
        subprocess.run(
            [
                "mvn", "--quiet", "--batch-mode", "--file", str(HERE / "pom.xml"),
                f"-Dmaven.repo.local={repository}", "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={part}",
            ],
            stdin=subprocess.DEVNULL,
            check=True,
        )  # fmt: skip
        found = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in part.glob("*.jar")
        }
        if found != wanted:
            wrong = min(dict(found.items() ^ wanted.items()))
            sys.exit(f"Maven fetched another {wrong} than jars.sha256 names")
        part.rename(jars)
    finally:
        for left in (part, repository):
            shutil.rmtree(left, ignore_errors=True)


def properties(port: int, data: Path) -> str:
    """What one node needs, and what keeps it from doing anything else."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        controller = probe.getsockname()[1]
    return f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
num.network.threads=2
num.io.threads=2
num.recovery.threads.per.data.dir=1
background.threads=1
auto.create.topics.enable=false
log.cleaner.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def make_topic(port: int) -> None:
    """Asks the broker for the topic, in Kafka's own protocol. Exits with 1 where that fails."""
    name = struct.pack(">h", len(TOPIC)) + TOPIC
    # Header: kind, version, number, client. Then topics: name, partitions, replicas, no
    # assignments, no settings; the time limit in ms, and that it is meant.
    header = struct.pack(">hhih", _CREATE_TOPICS, _VERSION, 1, -1)
    request = header + struct.pack(">i", 1) + name + struct.pack(">ihiiib", 1, 1, 0, 0, 10_000, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answers:
                answer = answers.read(struct.unpack(">i", answers.read(4))[0])
    except (OSError, struct.error) as error:
        sys.exit(f"no answer: {error}")
    # The answer: number, delay, one topic: name, code of an error.
    (code,) = struct.unpack_from(">h", answer, 12 + len(name))
    if code not in (0, _ALREADY_EXISTS):
        sys.exit(f"error {code} of Kafka's protocol")


def _die_with_parent() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end(_number: int, _frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), Path(sys.argv[3]).resolve())
    make_topic(int(sys.argv[2]))
