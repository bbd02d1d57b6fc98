"""What the broker runs on: Java, and Kafka's own files, fetched once from Maven Central."""

import hashlib
import re
import shutil
import socket
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.system.locks import locked
from waitbench.system.places import SERVICES
from waitbench.system.processes import ask, run_logged

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
    lack = missing_prerequisite(folder)
    if lack is not None:
        raise HarnessError(lack)
    digests = _digests()
    jars = _jars(folder, digests)
    with locked(folder / f"kafka-{VERSION}.lock", say):
        if not jars.is_dir():
            say(f"fetching Apache Kafka {VERSION} ({_SIZES})")
            _fetch(jars, digests)
    return {"KAFKA_JARS": str(jars)}


def require(address: str, variable: str) -> None:
    """Raises ``HarnessError`` where nothing listens at ``HOST:PORT``, which ``variable`` names."""
    refusal = _refusal_of(f"kafka://{address}")
    if refusal is not None:
        raise HarnessError(
            f"{variable}={address}: no broker there ({refusal}). Start it, or name another. "
            f"Without {variable}, one is fetched and started."
        )


def missing_prerequisite(folder: Path) -> str | None:
    """What this machine lacks to run a broker, as a sentence with what to do; ``None`` if nothing.

    ``folder`` is where Kafka is, or will be fetched to.
    """
    return _lack_of_java() or _lack_of_maven(folder)


def is_up(url: str) -> bool:
    """Whether something listens there."""
    return _refusal_of(url) is None


def _refusal_of(url: str) -> Exception | None:
    """What came of a connection to where a URL says; ``None`` where something listens."""
    where = urllib.parse.urlsplit(url)
    try:
        socket.create_connection((where.hostname or "", where.port or 0), 5).close()
    except (OSError, UnicodeError) as error:
        return error
    return None


def _lack_of_java() -> str | None:
    try:
        said = ask(["java", "-version"], time_limit_s=60)
    except OSError:
        said = None
    if said is None or said.returncode != 0:
        return f"A Kafka broker takes Java, and here is none. {_HINT} {_INSTEAD}"
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found and int(found[1]) < _LEAST_JAVA:
        return (
            f"Kafka {VERSION} takes Java {_LEAST_JAVA} or later, and here is {found[1]}. "
            f"{_HINT} {_INSTEAD}"
        )
    return None


def _lack_of_maven(folder: Path) -> str | None:
    if shutil.which("mvn") is not None or _jars(folder, _digests()).is_dir():
        return None
    return f"Kafka is fetched by Maven (mvn), and here is none. {_HINT} {_INSTEAD}"


def _jars(folder: Path, digests: Mapping[str, str]) -> Path:
    """Where what has these digests is, once it is fetched."""
    key = hashlib.sha256(repr(digests).encode()).hexdigest()[:8]
    return folder / f"kafka-{VERSION}-{key}"


def _fetch(jars: Path, digests: Mapping[str, str]) -> None:
    """Has Maven fetch what pom.xml names, and all that this needs."""
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
