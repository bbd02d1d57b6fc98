"""Engines side by side: what each figure is made of, by revision and scenario. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.rounds import shared_rounds
from waitbench.analysis.statistics import Estimate, mean
from waitbench.model.record import Context, Record, RevisionRecord

Run = Mapping[str, float]
"""A run's metrics, by key."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a revision: of which scenario, and how it comes out of a run."""

    title: str
    scenario: str
    """What its name has behind that of its family."""
    of_run: Callable[[Run], float]
    """Raises ``KeyError`` where a run lacks what it takes."""


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """What is shown of engines side by side, in the scenarios of one folder of families."""

    title: str
    """What tables begin with; the name of the chart's file."""
    groups: Mapping[str, tuple[Figure, ...]]
    """The tables: what each is of, and its columns."""
    share: Figure
    """Per cent of a core while waiting: upwards in the chart."""
    late: Figure
    """Milliseconds, of the same scenario: across."""


def share_of(title: str, scenario: str) -> Figure:
    """The workers' CPU per second of a scenario that waits, all of them together."""
    return Figure(title=title, scenario=scenario, of_run=lambda run: run["cpu_share_steady"] * 100)


def late_of(title: str, scenario: str, quantile: str) -> Figure:
    """Lateness of items in milliseconds, at ``p50`` or ``p99``."""
    key = f"item_latency_{quantile}"
    return Figure(title=title, scenario=scenario, of_run=lambda run: run[key] * 1e3)


def cpu_of_item(title: str, scenario: str) -> Figure:
    """The workers' CPU of an item in milliseconds, from the first poll to the end of input."""
    return Figure(
        title=title,
        scenario=scenario,
        of_run=lambda run: run["time_cpu_steady"] / run["items_out"] * 1e3,
    )


def start_and_memory(scenario: str) -> tuple[Figure, ...]:
    """What a worker takes before it waits."""
    return (
        Figure(
            title="start, s of CPU",
            scenario=scenario,
            of_run=lambda run: run["time_cpu_startup"],
        ),
        Figure(title="start, s", scenario=scenario, of_run=lambda run: run["time_startup"]),
        Figure(
            title="memory, MiB",
            scenario=scenario,
            of_run=lambda run: run["memory_peak_resident"] / 2**20,
        ),
    )


def is_shown(context: Context | None) -> bool:
    """Whether engines are side by side, or one with several settings."""
    if context is None:
        return False
    variants = {(one.engine, tuple(sorted(one.settings.items()))) for one in context.revisions}
    return len(variants) > 1


def record_of(figure: Figure, records: Iterable[Record]) -> Record | None:
    """What a figure is taken of, for all revisions: the first that anything was measured in.

    The same kind in another family, such as ``dynamic-idle``, is other work.
    """
    kinds = (one for one in records if one.scenario == f"{one.family}{figure.scenario}")
    return next((one for one in kinds if one.measurements), None)


def values(figure: Figure, records: Sequence[Record], label: str) -> list[float]:
    """A revision's figure in each of the rounds that every revision of the scenario has."""
    record = record_of(figure, records)
    if record is None:
        return []
    shared = shared_rounds(record)
    found = []
    for run in record.of(label):
        try:
            if run.round in shared:
                found.append(figure.of_run(run.metrics))
        except (KeyError, ZeroDivisionError):
            continue
    return found


def estimate(figure: Figure, records: Sequence[Record], label: str) -> Estimate | None:
    """A revision's figure with its interval; ``None`` where it has none."""
    found = values(figure, records, label)
    return mean(found) if found else None


def without_settings(revision: RevisionRecord) -> tuple[str, str, tuple[str, ...]]:
    """What revisions have in common that differ only in settings: engine, code, packages beside."""
    facts = revision.facts
    code = facts.package_sha256 if facts else revision.label
    return revision.engine or "", code, revision.beside
