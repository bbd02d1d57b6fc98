"""The machines of a comparison: what was measured where, and what each says -> text and data."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.machines import AcrossMachines
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.reporting.comparison import plain_ratio
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING, format_ratio
from waitbench.reporting.gate import headline
from waitbench.reporting.gate_formats import plain as plain_verdict

Machines = Mapping[str, str]
"""What each machine is, by its letter."""
Verdicts = Mapping[str, GateVerdict]
"""What the gate says on each machine, by its letter; none without a gate."""

_ALL = "all"


def name_of(machine: Mapping[str, object]) -> str:
    """What people tell it from others by."""
    number = machine.get("cpus")
    cpus = "" if number is None else ", 1 CPU" if number == 1 else f", {number} CPUs"
    kind = machine.get("cpu") or machine.get("architecture") or "unknown processor"
    return f"{kind}{cpus} ({machine.get('fingerprint', 'unknown')})"


def by_machine(records: Iterable[Record]) -> dict[str, list[str]]:
    """The names of the scenarios that each machine measured, by its own name."""
    found: dict[str, list[str]] = {}
    for record in records:
        found.setdefault(name_of(record.measured_on), []).append(record.scenario)
    return found


def where_measured(records: Iterable[Record]) -> str | None:
    """Says what was measured where; ``None`` where it was all on one machine."""
    found = by_machine(records)
    if len(found) < 2:
        return None
    where = "; ".join(f"{', '.join(names)} on {machine}" for machine, names in found.items())
    return f"Measured on {len(found)} machines, no scenario on two of them: {where}."


def letters(number: int) -> list[str]:
    """What so many machines are called in tables."""
    return [chr(ord("A") + place) if place < 26 else f"M{place + 1}" for place in range(number)]


def tables(found: Sequence[AcrossMachines], machines: Machines) -> list[Table]:
    """A table for each candidate: a row for each metric of each scenario."""
    return [
        Table(
            f"{label} against the baseline, on each machine and on machines like these",
            ("scenario", *machines, _ALL, "disagree"),
            tuple(_row(one) for one in found if one.label == label),
        )
        for label in dict.fromkeys(one.label for one in found)
    ]


def sentences(found: Sequence[AcrossMachines], machines: Machines) -> list[str]:
    """Says which machine is which, and where they disagree."""
    names = list(machines)
    said = [f"{letter}: {machine}." for letter, machine in machines.items()]
    twice = [
        f"{one} and {other}"
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if machines[one] == machines[other]
    ]
    if twice:
        said.append(
            f"{'; '.join(twice)}: these are one machine, so that what differs between them is not "
            "what differs between machines."
        )
    disagreeing = [one for one in found if one.disagree]
    said += [_disagreement(one, names) for one in disagreeing]
    tested = sum(one.p_value is not None for one in found)
    if disagreeing:
        said.append(
            f"{_ALL!r} is of the mean machine then, not of each. (Of {tested} ratios; the chance "
            f"that any is named although the machines agree is at most {ALPHA:.0%}.)"
        )
    elif tested:
        ratios = "the ratio" if tested == 1 else f"any of {tested} ratios"
        said.append(f"The machines do not certainly disagree on {ratios}.")
    return said


def verdict_sentences(verdicts: Verdicts) -> list[str]:
    """The gate's headline on each machine."""
    return [f"{letter}: {headline(verdict)}" for letter, verdict in verdicts.items()]


def plain(
    found: Sequence[AcrossMachines], machines: Machines, verdicts: Verdicts
) -> dict[str, Any]:
    """Everything that is known, for ``--json`` and ``machines.json``."""
    return {
        "machines": dict(machines),
        "ratios": [_plain(one, list(machines)) for one in found],
        "verdicts": {it: plain_verdict(verdict) for it, verdict in verdicts.items()},
        "sentences": sentences(found, machines),
    }


def _row(one: AcrossMachines) -> tuple[str, ...]:
    cells = (*map(_cell, one.ratios), _cell(one.pooled))
    return f"{one.scenario}, {one.metric}", *cells, "yes" if one.disagree else NOTHING


def _cell(ratio: Estimate | None) -> str:
    return NOTHING if ratio is None else format_ratio(ratio)


def _disagreement(one: AcrossMachines, names: Sequence[str]) -> str:
    assert one.apart is not None, "two machines were told apart"
    low, high = (f"{_cell(one.ratios[place])} on {names[place]}" for place in one.apart)
    return (
        f"{one.scenario}: the machines disagree on the {BY_NAME[one.metric].title} of {one.label}: "
        f"{low}, {high}."
    )


def _plain(one: AcrossMachines, names: Sequence[str]) -> dict[str, Any]:
    return {
        "scenario": one.scenario,
        "revision": one.label,
        "metric": one.metric,
        "by_machine": {
            name: plain_ratio(ratio)
            for name, ratio in zip(names, one.ratios, strict=True)
            if ratio is not None
        },
        "pooled": plain_ratio(one.pooled),
        "p_value": one.p_value,
        "disagree": one.disagree,
    }
