"""The present format: what all files say of a comparison, its scenarios and their runs.

``plain_…`` makes plain data, for JSON, of a record's part; ``read_…`` makes the part of plain data,
ignores fields that it does not know, and raises ``KeyError``, ``TypeError`` or ``ValueError`` where
the data is not what it must be. docs/results.md describes the files for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from waitbench.model.environment import Facts
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import Measurement, Outcome, Result
from waitbench.store.plain import (
    Plain,
    as_numbers,
    take,
    take_file_name,
    take_mapping,
    take_numbers,
    take_objects,
    take_optional,
    take_texts,
)

FORMAT = 2
"""The number that stands in every file. Readers accept every one that a release has written."""


def format_of(data: Plain) -> int:
    """The format that an object names.

    Raises ``UsageError`` for one that is later than ours.
    """
    if "format" not in data:
        raise ValueError("it names no format")
    named = take(data, "format", int)
    if named < FORMAT:
        raise ValueError(f"no release has written format {named}")
    if named > FORMAT:
        raise UsageError(
            f"it is of format {named}, and this version of waitbench reads formats up to {FORMAT}. "
            "Update waitbench to read it."
        )
    return named


def plain_comparison(context: Context, settings: Mapping[str, object], kind: str) -> dict[str, Any]:
    """The content of ``comparison.json``."""
    return {
        "format": FORMAT,
        "kind": kind,
        "waitbench": context.waitbench,
        # Of the baseline; each revision names its own.
        "engine": next(iter(context.engines), None),
        "revisions": [_plain_revision(revision) for revision in context.revisions],
        "topology": context.topology,
        "mixed_origins": context.mixed_origins,
        "hyperfine_version": context.hyperfine_version,
        "machine": dict(context.machine),
        "started_at": context.started_at,
        "argv": list(context.argv),
        "settings": dict(settings),
    }


def read_context(data: Plain) -> Context:
    """What holds for a whole comparison, out of the content of ``comparison.json``."""
    # Where revisions do not name their own, all were of one.
    engine = take_optional(data, "engine", str)
    revisions = [{"engine": engine, **revision} for revision in take_objects(data, "revisions")]
    return Context(
        revisions=tuple(map(_read_revision, revisions)),
        topology=take(data, "topology", str),
        mixed_origins=take(data, "mixed_origins", bool),
        hyperfine_version=take(data, "hyperfine_version", str),
        machine=take(data, "machine", dict),
        started_at=take(data, "started_at", str),
        argv=take_texts(data, "argv"),
        waitbench=take_optional(data, "waitbench", str),
    )


def plain_scenario(record: Record) -> dict[str, Any]:
    """What holds for all runs of a scenario."""
    return {
        "format": FORMAT,
        "scenario": record.scenario,
        "family": record.family,
        "waits": record.waits,
        "works": record.works,
        **({"coarse": True, "topology": record.context.topology} if record.coarse else {}),
        "parameters": dict(record.parameters),
        "metrics": [_plain_metric(metric) for metric in record.metrics],
        "launcher_cpu_s": dict(record.launcher_cpu_s),
        **({} if record.machine is None else {"machine": dict(record.machine)}),
    }


def read_scenario(data: Plain, context: Context) -> Record:
    """A record of a scenario, without its runs."""
    return Record(
        scenario=take_file_name(data, "scenario"),
        family=take_optional(data, "family", str),
        parameters=take(data, "parameters", dict),
        context=replace(context, topology=take_optional(data, "topology", str) or context.topology),
        waits=take(data, "waits", bool),
        works=take_optional(data, "works", bool) or False,
        coarse=take_optional(data, "coarse", bool) or False,
        metrics=tuple(_read_metric(metric) for metric in take_objects(data, "metrics")),
        launcher_cpu_s=take_numbers(data, "launcher_cpu_s"),
        machine=take_optional(data, "machine", dict),
    )


def plain_run(result: Result, metrics: Sequence[Metric]) -> dict[str, Any]:
    """One run, complete with its samples; of its metrics those that the scenario declares."""
    if isinstance(result, Outcome):
        return asdict(result)
    values = {m.key: result.metrics[m.key] for m in metrics if m.key in result.metrics}
    return {**vars(result), "metrics": values}


def read_run(data: Plain) -> Result:
    """One run: an outcome where it gives a reason, else a measurement."""
    return read_outcome(data) if "reason" in data else _read_measurement(data)


def read_outcome(data: Plain) -> Outcome:
    """A run without a measurement."""
    return Outcome(
        label=take(data, "label", str),
        round=take(data, "round", int),
        position=take(data, "position", int),
        started_at=take(data, "started_at", str),
        reason=take(data, "reason", str),
        message=take(data, "message", str),
        log=take(data, "log", str),
    )


def _read_measurement(data: Plain) -> Measurement:
    return Measurement(
        label=take(data, "label", str),
        round=take(data, "round", int),
        position=take(data, "position", int),
        started_at=take(data, "started_at", str),
        metrics=take_numbers(data, "metrics"),
        marks=take_texts(data, "marks"),
        samples=tuple(as_numbers(sample) for sample in take_objects(data, "samples")),
    )


def _plain_revision(revision: RevisionRecord) -> dict[str, Any]:
    return {
        "label": revision.label,
        "text": revision.text,
        "engine": revision.engine,
        "origin": revision.origin,
        "beside": list(revision.beside),
        "settings": dict(revision.settings),
        "remark": revision.remark,
        "commit": revision.commit,
        "commit_date": revision.commit_date,
        "environment": None if revision.facts is None else revision.facts.as_plain(),
    }


def _read_revision(data: Plain) -> RevisionRecord:
    environment = take_optional(data, "environment", dict)
    return RevisionRecord(
        label=take(data, "label", str),
        text=take(data, "text", str),
        origin=take(data, "origin", str),
        engine=take_optional(data, "engine", str),
        beside=take_texts({"beside": [], **data}, "beside"),
        settings=take_mapping({"settings": {}, **data}, "settings", str),
        remark=take_optional(data, "remark", str) or "",
        commit=take_optional(data, "commit", str),
        commit_date=take_optional(data, "commit_date", str),
        facts=None if environment is None else _read_facts(environment),
    )


def _read_facts(data: Plain) -> Facts:
    return Facts(
        python=take(data, "python", str),
        package_version=take(data, "package_version", str),
        extensions=take_mapping(data, "extensions", str),
        package_sha256=take(data, "package_sha256", str),
        requirements=take_texts(data, "requirements"),
        compiler=take_optional(data, "compiler", str),
        capabilities=frozenset(take_texts(data, "capabilities")),
        details=take_mapping(data, "details", str),
    )


def _plain_metric(metric: Metric) -> dict[str, Any]:
    plain = asdict(metric)
    return plain if metric.price_s else {k: v for k, v in plain.items() if k != "price_s"}


def _read_metric(data: Plain) -> Metric:
    return Metric(
        name=take(data, "name", str),
        key=take(data, "key", str),
        unit=take(data, "unit", str),
        title=take(data, "title", str),
        explains=take_optional(data, "explains", str),
        price_s=take_optional(data, "price_s", float) or 0.0,
    )
