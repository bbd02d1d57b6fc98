"""What several machines say of the same revisions -> tables, sentences and plain data."""

from collections.abc import Mapping, Sequence
from typing import Any

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.machines import AcrossMachines
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.cell_table import CellTable
from waitbench.reporting.gate import plain as plain_verdict
from waitbench.reporting.gate.texts import headline
from waitbench.reporting.plain import plain_ratio
from waitbench.reporting.tables import format_interval

Machines = Mapping[str, str]
"""What each machine is, by its letter."""
Verdicts = Mapping[str, GateVerdict]
"""What the gate says on each machine, by its letter; none without a gate."""

_ALL = "all"


def letters(number: int) -> list[str]:
    """What so many machines are called in tables."""
    return [chr(ord("A") + place) if place < 26 else f"M{place + 1}" for place in range(number)]


def tables(found: Sequence[AcrossMachines], machines: Machines) -> list[CellTable]:
    """A table for each candidate: a row for each metric of each scenario."""
    made = []
    for label in dict.fromkeys(one.label for one in found):
        of_label = [one for one in found if one.label == label]
        made.append(
            CellTable(
                f"{label} against the baseline, on each machine and on machines like these",
                ("scenario", *machines, _ALL, "disagree"),
                tuple(map(_row, of_label)),
            )
        )
    return made


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
        "verdicts": {it: plain_verdict.plain(verdict) for it, verdict in verdicts.items()},
        "sentences": sentences(found, machines),
    }


def _row(one: AcrossMachines) -> tuple[str, ...]:
    cells = (*map(_cell, one.ratios), _cell(one.pooled))
    return f"{one.scenario}, {one.metric}", *cells, "yes" if one.disagree else "–"


def _cell(ratio: Estimate | None) -> str:
    return "–" if ratio is None else f"× {ratio.value:.3g} {format_interval(ratio)}".rstrip()


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
