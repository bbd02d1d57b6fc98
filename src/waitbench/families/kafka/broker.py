"""What the broker runs on: Java, and Kafka's own files, fetched once from Maven Central."""

import hashlib
import re
import shutil
import socket
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from waitbench.model.errors import HarnessError
from waitbench.system.places import SERVICES
from waitbench.system.processes import ask
from waitbench.system.steps import run_logged

VERSION = "4.1.2"
"""That of services/kafka/pom.xml."""
_SIZES = "65 MB to fetch, 43 MB on disk"
_LEAST_JAVA = 17
_INSTALL = "This would install it: apt-get install openjdk-17-jre-headless maven (or brew install "
_HINT = f"{_INSTALL}openjdk maven)."
_INSTEAD = "Or name a broker of yours: BENCH_KAFKA=HOST:PORT."
_SOURCES = SERVICES / "kafka"


def prepare(folder: Path, say: Callable[[str], None]) -> Mapping[str, str]:
    """Fetches Kafka into the folder unless it is there; settings that say where it is.

    Raises ``HarnessError`` with what would install what is missing.
    """
    _require_java()
    digests = _digests()
    key = hashlib.sha256(repr(digests).encode()).hexdigest()[:8]
    jars = folder / f"kafka-{VERSION}-{key}"
    with FileLock(folder / f"kafka-{VERSION}.lock"):
        if not jars.is_dir():
            say(f"fetching Apache Kafka {VERSION} ({_SIZES})")
            _fetch(jars, digests)
    return {"KAFKA_JARS": str(jars)}


def is_up(url: str) -> bool:
    """Whether something listens there."""
    where = urllib.parse.urlsplit(url)
    try:
        socket.create_connection((where.hostname or "", where.port or 0), 5).close()
    except OSError:
        return False
    return True


def _require_java() -> None:
    """Raises ``HarnessError`` where Java cannot run a broker."""
    try:
        said = ask(["java", "-version"], time_limit_s=60)
    except OSError:
        said = None
    if said is None or said.returncode != 0:
        raise HarnessError(f"A Kafka broker takes Java, and here is none. {_HINT} {_INSTEAD}")
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found and int(found[1]) < _LEAST_JAVA:
        raise HarnessError(
            f"Kafka {VERSION} takes Java {_LEAST_JAVA} or later, and here is {found[1]}. "
            f"{_HINT} {_INSTEAD}"
        )


def _fetch(jars: Path, digests: Mapping[str, str]) -> None:
    """Has Maven fetch what pom.xml names, and all that this needs."""
    if shutil.which("mvn") is None:
        raise HarnessError(f"Kafka is fetched by Maven (mvn), and here is none. {_HINT} {_INSTEAD}")
    part, repository = (jars.with_name(f"{jars.name}.{what}") for what in ("part", "maven"))
    log = jars.with_name("kafka.log")
    for left in (part, repository):
        shutil.rmtree(left, ignore_errors=True)
    log.unlink(missing_ok=True)
    try:
        run_logged(
            [
                "mvn", "--quiet", "--batch-mode", "--file", str(_SOURCES / "pom.xml"),
                f"-Dmaven.repo.local={repository}", "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={part}",
            ],
            log,
        )  # fmt: skip
        found = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in part.glob("*.jar")
        }
        if found != digests:
            wrong = sorted(dict(found.items() ^ digests.items()))
            raise HarnessError(
                f"What Maven fetched is not what services/kafka/jars.sha256 names: {wrong[0]}"
            )
        part.rename(jars)
    finally:
        for left in (part, repository):
            shutil.rmtree(left, ignore_errors=True)


def _digests() -> dict[str, str]:
    """The digest of each file, by its name."""
    lines = (_SOURCES / "jars.sha256").read_text("utf-8").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}
