"""Family ``paged-output``: workers that wait for their output device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule, on_each_reading_worker
from waitbench.model.metrics import Metric
from waitbench.model.scenario import Family, Parameters, Samples, Scenario
from waitbench.system.places import DATAFLOWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents

_ITEMS = "items_per_worker"

METRICS = (
    Metric("sent", "messages_sent", "count", "messages sent"),
    Metric("dropped", "messages_dropped", "count", "messages dropped"),
    Metric("direct", "messages_direct", "count", "messages sent without a page"),
    Metric("bytes-held", "bytes_held_peak", "byte", "bytes held at most"),
)


def _lasts_s(parameters: Parameters) -> float:
    return 0.7 + int(parameters[_ITEMS]) * (8e-5 if parameters["output"] == "regular" else 1e-5)


def _metrics_of(_samples: Samples, totals: Mapping[str, float]) -> Mapping[str, float]:
    return {metric.key: totals[metric.key] for metric in METRICS if metric.key in totals}


FAMILY = Family(
    name="paged-output",
    items=on_each_reading_worker(_ITEMS),
    lasts_s=_lasts_s,
    metrics=METRICS,
    metrics_of=_metrics_of,
    defining=frozenset({"output"}),
    quick={_ITEMS: "10000"},
)

_OUTPUTS = {
    "regular": "each message waits for the device's acknowledgement",
    "paged": "messages gather into pages behind a buffer",
}
_DEVICES = {
    "noop": "a process that only acknowledges",
    "passthrough": "one that hands on through a pipe to a reader",
}

SCENARIOS = tuple(
    Scenario(
        name=f"paged-output-{output}-{device}",
        purpose=f"20,000 messages of 25 bytes; {how}; the device is {what}",
        family=FAMILY,
        module=DATAFLOWS / "paged_output.py",
        parameters={
            "output": output,
            "page_size": 4096,
            "buffer": 40_000,
            "overflow": "block",
            "device": device,
            _ITEMS: 20_000,
            "message_bytes": 25,
            "seed": 1,
        },
        by_default=False,
    )
    for device, what in _DEVICES.items()
    for output, how in _OUTPUTS.items()
)


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.paged_output import paging, tables

    return tables.tables(paging.kept_paging(contents))


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.paged_output import charts, paging

    return charts.figures(paging.kept_paging(contents))


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures, command="paged-output")
