"""Family ``kafka``: workers that wait for the messages of a real broker."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule, too_many_silent
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.model.scenario import (
    KAFKA,
    Family,
    Parameters,
    Samples,
    Scenario,
    Service,
    ServicePlan,
    Topology,
    Value,
)
from waitbench.system.places import DATAFLOWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents

BROKER_VARIABLE = "BENCH_KAFKA"
"""The environment variable that names the user's own broker, ``HOST:PORT``."""
_ITEMS = "items_per_partition"
_STARTS_S = 2.0
"""What it takes until every partition is read, roughly."""

METRICS = (
    Metric("broker-cpu", "service_cpu_broker", "second", "the broker's CPU"),
    Metric("producer-cpu", "service_cpu_producer", "second", "the producer's CPU"),
    Metric("broker-delay", "broker_delay_p99", "second", "from due to in the broker, at p99"),
    Metric("broker-delay-p50", "broker_delay_p50", "second", "from due to in the broker, median"),
    Metric("end-delay", "input_end_delay", "second", "from when the input's end was due to it"),
    Metric("threads", "worker_threads", "count", "threads of the workers"),
)


def _plan(parameters: Parameters) -> ServicePlan:
    """The broker, unless the user has one, and the producer of one run."""
    own = os.environ.get(BROKER_VARIABLE)
    if own is not None and not _is_address(own):
        raise UsageError(f"{BROKER_VARIABLE}={own}: not HOST:PORT, such as 127.0.0.1:9092.")
    producer = Service(
        name="producer",
        module="kafka.producer",
        settings={
            "PARTITIONS": str(parameters["partitions"]),
            "ITEMS_PER_PARTITION": str(parameters[_ITEMS]),
            "INTERVAL": str(parameters["interval"]),
            "BURST": str(parameters["burst"]),
            "IDLE": str(parameters["idle"]),
            "SILENT": str(parameters["silent"]),
            "SEED": str(parameters["seed"]),
        },
        prepare=None if own is None else partial(_require, own),
        upstream_variable="BROKER",
        counters=_counters,
    )
    if own is not None:
        return ServicePlan(services=(producer,), url=f"kafka://{own}")
    return ServicePlan(services=(_BROKER, producer))


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and "/" not in text and 0 < int(port) < 2**16


def _prepare(folder: Path, say: Callable[[str], None]) -> Mapping[str, str]:
    # Here, as below: not every command that lists scenarios is to import what these take.
    from waitbench.families.kafka import broker

    return broker.prepare(folder, say)


def _require(own: str, _folder: Path, _say: Callable[[str], None]) -> Mapping[str, str]:
    from waitbench.families.kafka import broker

    broker.require(own, BROKER_VARIABLE)
    return {}


def _is_up(url: str) -> bool:
    from waitbench.families.kafka import broker

    return broker.is_up(url)


def _counters(url: str) -> Mapping[str, float]:
    import json
    import urllib.request

    with urllib.request.urlopen(url, timeout=10) as answer:
        counted = json.load(answer)
    return {
        "broker_delay_p50": counted["delay_p50_s"],
        "broker_delay_p99": counted["delay_p99_s"],
    }


_BROKER = Service(
    name="broker",
    module="kafka.broker",
    settings={},
    prepare=_prepare,
    is_up=_is_up,
    is_kept=True,
)


def _in_all_partitions(parameters: Parameters, _topology: Topology) -> int:
    having_items = int(parameters["partitions"]) - int(parameters["silent"])
    return having_items * int(parameters[_ITEMS])


def _lasts_s(parameters: Parameters) -> float:
    items = int(parameters[_ITEMS])
    waiting_s = items / float(parameters["burst"]) * float(parameters["interval"])
    # Without pause, as many as a slow reader takes.
    working_s = int(parameters["partitions"]) * items / 20_000
    return _STARTS_S + float(parameters["idle"]) + max(waiting_s, working_s)


def _metrics_of(_samples: Samples, totals: Mapping[str, float]) -> Mapping[str, float]:
    threads = totals.get("threads")
    return {"worker_threads": threads} if threads else {}


FAMILY = Family(
    name="kafka",
    items=_in_all_partitions,
    lasts_s=_lasts_s,
    metrics=METRICS,
    metrics_of=_metrics_of,
    requirements=(
        # One client library under all that is compared, unless a revision names another.
        "confluent-kafka==2.16.1",
        # What the inputs of some engines import besides, and what that imports of the client.
        "attrs==24.2.0",
        "authlib==1.3.2",
        "cachetools==5.5.0",
        "fastavro==1.10.0",
        "httpx==0.27.2",
        "requests==2.32.3",
    ),
    services=_plan,
    waits=lambda p: bool(p["interval"] or p["idle"]),
    works=lambda p: not (p["interval"] or p["idle"]),
    needs=lambda _parameters: frozenset({KAFKA}),
    why_senseless=too_many_silent,
    quick={_ITEMS: "8", "interval": "0.125", "idle": "1"},
)

_COMMON: dict[str, Value] = {
    "partitions": 16, _ITEMS: 20, "interval": 0.0, "burst": 1, "idle": 0.0, "silent": 0,
    "fetch_wait_max_ms": 500, "batch_size": 1000, "seed": 1,
}  # fmt: skip
_KINDS: tuple[tuple[str, dict[str, Value], str], ...] = (
    ("idle", {_ITEMS: 0, "idle": 5.0}, "no message at all for 5 s: the cost of an idle second"),
    ("long-input", {"interval": 0.25}, "20 messages each, one due per 0.25 s"),
    (
        "burst",
        {_ITEMS: 40, "interval": 1.25, "burst": 10},
        "10 messages at once after 1.25 s of silence",
    ),
    ("busy", {_ITEMS: 4000}, "4,000 messages each without pause: the cost of a message"),
    (
        "ended",
        {"silent": 1, "idle": 5.0},
        "all but one have ended after 20 messages each; that one is silent for 5 s",
    ),
)
"""End of the name, what differs from the common parameters, purpose."""

SCENARIOS = tuple(
    Scenario(
        name=f"kafka-{name}",
        purpose=f"16 partitions of a topic; {purpose}",
        family=FAMILY,
        module=DATAFLOWS / "kafka.py",
        parameters={**_COMMON, **parameters},
        by_default=False,
    )
    for name, parameters, purpose in _KINDS
)


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.kafka import tables
    from waitbench.families.kafka.tables import SIDE_BY_SIDE
    from waitbench.reporting import side_by_side

    return [*tables.tables(contents.records), *side_by_side.tables(contents, SIDE_BY_SIDE)]


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.kafka.tables import SIDE_BY_SIDE
    from waitbench.reporting.charts import plane

    return plane.figures(contents, SIDE_BY_SIDE)


def _missing_prerequisite(services: Path) -> str | None:
    from waitbench.families.kafka import broker

    return None if os.environ.get(BROKER_VARIABLE) else broker.missing_prerequisite(services)


MODULE = FamilyModule(
    scenarios=SCENARIOS,
    tables=_tables,
    figures=_figures,
    missing_prerequisite=_missing_prerequisite,
)
