"""The present format: what all files say of a comparison, its scenarios and their runs.

``plain_…`` makes plain data, for JSON, of a record's part; ``read_…`` makes the part of plain data,
ignores fields that it does not know, and raises ``ValueError`` where the data is not what it must
be, as the types of the part say. docs/results.md describes the files for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from msgspec import convert, to_builtins

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record
from waitbench.model.run import Measurement, Outcome, Result
from waitbench.model.scan import ScanPoint
from waitbench.store.plain import Plain

FORMAT = 2
"""The number that stands in every file. Readers accept every one that a release has written."""
_MOST_OF_NAME = 200
"""Bytes of a name to which suffixes are added; file systems allow 255."""

_plain = partial(to_builtins, enc_hook=dict)
"""Makes plain data of a record, whatever its mappings are."""


class _Format(msgspec.Struct):
    format: int


class _Comparison(msgspec.Struct):
    """What is read of ``comparison.json`` besides the context that it holds."""

    settings: dict[str, Any]


class _Scenario(msgspec.Struct, kw_only=True):
    """What holds for all runs of a scenario, as files have it."""

    scenario: str
    family: str
    waits: bool
    works: bool
    coarse: bool = False
    scan: ScanPoint | None = None
    topology: str | None = None
    """Where it has one of its own."""
    parameters: dict[str, Any]
    metrics: tuple[Metric, ...]
    machine: dict[str, Any] | None = None


def format_of(data: Plain) -> int:
    """The format that an object names.

    Raises ``UsageError`` for one that is later than ours.
    """
    named = convert(data, _Format).format
    if named < FORMAT:
        raise ValueError(f"no release has written format {named}")
    if named > FORMAT:
        raise UsageError(
            f"it is of format {named}, and this version of waitbench reads formats up to {FORMAT}. "
            "Update waitbench to read it."
        )
    return named


def plain_comparison(context: Context, settings: Mapping[str, object]) -> dict[str, Any]:
    """The content of ``comparison.json``."""
    return {
        "format": FORMAT,
        "kind": "comparison",
        **_plain(context),
        "revisions": _plain(context.revisions, order="deterministic"),
        "settings": dict(settings),
    }


def read_comparison(data: Plain) -> tuple[Context, dict[str, Any]]:
    """What holds for a whole comparison, and its settings."""
    return convert(data, Context), convert(data, _Comparison).settings


def plain_scenario(record: Record) -> dict[str, Any]:
    """What holds for all runs of a scenario."""
    return {
        "format": FORMAT,
        "scenario": record.scenario,
        "family": record.family,
        "waits": record.waits,
        "works": record.works,
        **({"coarse": True} if record.coarse else {}),
        **({"scan": to_builtins(record.scan)} if record.scan else {}),
        **({"topology": record.context.topology} if record.coarse or record.scan else {}),
        "parameters": dict(record.parameters),
        "metrics": [_plain_metric(metric) for metric in record.metrics],
        **({} if record.machine is None else {"machine": dict(record.machine)}),
    }


def read_scenario(data: Plain, context: Context) -> Record:
    """A record of a scenario, without its runs."""
    read = msgspec.structs.asdict(convert(data, _Scenario))
    topology = read.pop("topology") or context.topology
    _require_file_name(read["scenario"])
    return Record(**read, context=replace(context, topology=topology))


def plain_run(result: Result, metrics: Sequence[Metric]) -> dict[str, Any]:
    """One run, complete with its samples; of its metrics those that the scenario declares."""
    plain: dict[str, Any] = _plain(result)
    if isinstance(result, Measurement):
        known = [metric.key for metric in metrics]
        plain["metrics"] = {key: result.metrics[key] for key in known if key in result.metrics}
    return plain


def read_run(data: Plain) -> Result:
    """One run: an outcome where it gives a reason, else a measurement."""
    return convert(data, Outcome) if "reason" in data else convert(data, Measurement)


def _require_file_name(name: str) -> None:
    """Raises ``ValueError`` unless files named after it are visible, and in their own folder."""
    if not name or "/" in name or not name.isprintable() or len(name.encode()) > _MOST_OF_NAME:
        raise ValueError(f"{name[:40]!r} cannot be a file's name")


def _plain_metric(metric: Metric) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(metric)
    return plain if metric.price_s else {k: v for k, v in plain.items() if k != "price_s"}
