"""Files of format 1, which name no format: each scenario's file repeats the whole context.

What a revision could do, and where it kept its launcher, stood among its facts; the engine, the
family and the metrics' names were not recorded, for there was one engine and one list of metrics.
"""

from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import Record
from waitbench.model.scenario import NEXT_AWAKE
from waitbench.store.exports import read_results
from waitbench.store.formats import read_context
from waitbench.store.plain import (
    Plain,
    take,
    take_file_name,
    take_numbers,
    take_objects,
    take_optional,
)

_DOCUMENTS = ("modes", "rows", "judgements")
"""What a file beside the scenarios held: loads by mode, rows of a table, or a verdict."""


def is_scenario(data: Plain) -> bool:
    """Whether this is the content of a scenario's file."""
    metadata = data.get("metadata")
    return isinstance(metadata, dict) and "comparison" in metadata


def is_document(data: Plain) -> bool:
    """Whether this is the content of another file of a results folder."""
    return any(key in data for key in _DOCUMENTS)


def read_record(data: Plain) -> Record:
    """The record in the content of a scenario's file. Raises as ``formats`` says."""
    metadata = take(data, "metadata", dict)
    parameters = take(metadata, "parameters", dict)
    record = Record(
        scenario=take_file_name(metadata, "scenario"),
        family=None,
        parameters=parameters,
        context=read_context(_today(take(metadata, "comparison", dict))),
        waits=any(parameters.get(name) for name in ("long_input", "idle")),
        works=bool(parameters.get("heavy_map")),
        metrics=(*METRICS, *_other_metrics(data)),
        launcher_cpu_s=take_numbers(metadata, "launcher_cpu_s"),
    )
    for result in read_results(data):
        record.add(result)
    return record


def _today(comparison: Plain) -> Plain:
    """The context of format 1 as the present format has it."""
    revisions = [_revision_today(revision) for revision in take_objects(comparison, "revisions")]
    return {**comparison, "engine": None, "revisions": revisions}


def _revision_today(revision: Plain) -> Plain:
    """A revision as of today: the facts of its environment have an object of their own."""
    launcher = take_optional(revision, "launcher_module", str)
    environment = {
        **revision,
        "capabilities": [NEXT_AWAKE] if revision.get("supports_next_awake") is True else [],
        "details": {} if launcher is None else {"launcher_module": launcher},
    }
    # A revision that could not be built has nothing but what names it.
    return {**revision, "environment": environment if "package_sha256" in revision else None}


def _other_metrics(data: Plain) -> tuple[Metric, ...]:
    """Those that the model does not know, in the order of the first run that has them."""
    known = {metric.key for metric in METRICS}
    found: dict[str, Metric] = {}
    for result in take_objects(data, "results"):
        for run in take_objects(result, "measurements"):
            for key, entry in run.items():
                if isinstance(entry, dict) and key not in known:
                    found.setdefault(key, Metric(key, key, take(entry, "unit", str), key))
    return tuple(found.values())
