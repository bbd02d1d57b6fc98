"""Spark's Structured Streaming, in local mode: micro-batches, a JVM, and Python workers beside it.

A run is one worker of several processes: the driver, which is Python; its JVM; Spark's daemons, and
the Python workers that they fork. The driver's report speaks for all of them (``speak_for_all`` in
dataflows/support/probe.py): CPU time at each point is that of the whole tree. Peak resident memory
is what the kernel says of the largest single process, which is the JVM: the others come on top. How
often threads waited is not known of threads that have ended, and is absent.

``local[1]``: one task slot for one worker. The tasks of a batch, one for each partition that has
something new, run in it one after the other; what plans them, compiles, and collects garbage has
threads of its own, as always in a JVM.

Which Python it is matters more than elsewhere. Spark has its workers import it from an archive
(``pyspark.zip``), which each new process compiles anew, and drops all caches of imports before each
task: up to Python 3.12 that reads the archive's directory again some 17 times, in Python.
"""

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType

from waitbench.engines.base import ARCHIVE, Knob
from waitbench.engines.carried import Carried
from waitbench.model.scenario import WINDOW
from waitbench.system.processes import ask

_OLDEST_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWERS_WITHIN_S = 30


class PySpark(Carried):
    """https://spark.apache.org, from 4.0 on: the first with sources written in Python."""

    name = "pyspark"
    example = "4.1.4"
    package = "pyspark"
    module = "pyspark"
    oldest: str | None = "4.0.0"
    smoke_test = "import pyspark.sql.datasource, pyspark.sql.conversion, pyarrow"
    files: tuple[str, ...] = (ARCHIVE,)
    # Rows of sources written in Python go to the JVM as Arrow's.
    requirements: tuple[str, ...] = ("pyarrow==23.0.1",)
    settings: Mapping[str, Knob] = MappingProxyType({"trigger_ms": Knob(default="0", whole=True)})
    """How long Spark waits between batches: Spark's own default is not at all. Then it asks for
    news some 70 times a second, 10 ms after each answer (``spark.sql.streaming.pollingDelay``)."""
    size = "fetching it takes 456 MB, and with its wheel and its environment 1.1 GB stay"
    startup_s = 12.0
    capabilities = frozenset({WINDOW})

    def missing_prerequisite(self) -> str | None:
        if sys.platform != "linux":
            return "Spark is measured on Linux only: what its processes use is read from /proc."
        try:
            said = ask(["java", "-version"], time_limit_s=_ANSWERS_WITHIN_S)
        except OSError:
            return f"There is no java on the PATH. {_what_to_do()}"
        version = java_version(said.stderr + said.stdout)
        if version is None:
            return f"`java -version` names no version. {_what_to_do()}"
        if version < _OLDEST_JAVA:
            return f"The java on the PATH is version {version}. {_what_to_do()}"
        return None

    def remark(self) -> str:
        return (
            "polls its source, and takes what there is in micro-batches, each written to a log; "
            "a JVM with Python workers beside it, all counted; its memory is the JVM's alone"
        )


def java_version(said: str) -> int | None:
    """The first number of the version that ``java -version`` names; 8 for ``1.8``."""
    found = _VERSION.search(said)
    return int(found[1]) if found else None


def _what_to_do() -> str:
    return (
        f"Spark needs Java {_OLDEST_JAVA} or later: apt-get install openjdk-17-jre-headless, or "
        "another of https://adoptium.net, first on the PATH."
    )


ENGINE = PySpark()
