"""Records: all runs of one scenario in one comparison, and what holds for the whole comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from waitbench.model.environment import Facts
from waitbench.model.metrics import METRICS, Metric
from waitbench.model.run import Measurement, Outcome, Result


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One revision of a comparison, as result files keep it."""

    label: str
    text: str
    """As the user wrote it."""
    origin: str
    commit: str | None = None
    commit_date: str | None = None
    facts: Facts | None = None
    """``None`` where no environment could be made."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What holds for a whole comparison; everything needed to repeat it."""

    engine: str | None
    """``None`` in files of before engines were recorded."""
    revisions: tuple[Contestant, ...]
    """In the order given: the baseline first."""
    topology: str
    mixed_origins: bool
    hyperfine_version: str
    machine: Mapping[str, object]
    """See ``system.machine.describe``."""
    started_at: str
    """ISO 8601, UTC."""
    argv: tuple[str, ...]
    waitbench: str | None = None
    """The version of this package that made the comparison."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(revision.label for revision in self.revisions)

    @property
    def identity(self) -> tuple[object, ...]:
        """What must be equal for the runs of two sessions to belong to one comparison."""
        return self.topology, tuple(
            (r.label, r.facts and r.facts.package_sha256, r.facts and r.facts.python)
            for r in self.revisions
        )


@dataclass(kw_only=True)
class Record:
    """All runs of one scenario so far. Grows while a comparison runs."""

    scenario: str
    family: str | None
    """``None`` in files of before families were recorded."""
    parameters: Mapping[str, object]
    context: Context
    waits: bool = False
    """Whether the scenario's input makes the workers wait."""
    works: bool = False
    """Whether the scenario has heavy work to do, whose CPU dwarfs that of any waiting."""
    metrics: tuple[Metric, ...] = METRICS
    """Everything that its runs may hold."""
    measurements: list[Measurement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    launcher_cpu_s: dict[str, float] = field(default_factory=dict)
    """What the engine's own launcher spent in one extra run, by label; empty unless asked for."""

    @property
    def mostly_waits(self) -> bool:
        """Whether what its workers use in the steady phase is what waiting costs."""
        return self.waits and not self.works

    def add(self, result: Result) -> None:
        if isinstance(result, Measurement):
            self.measurements.append(result)
        else:
            self.outcomes.append(result)

    def of(self, label: str) -> list[Measurement]:
        """The measurements of one revision, in order of rounds."""
        return sorted((m for m in self.measurements if m.label == label), key=lambda m: m.round)

    def replace(self, measurement: Measurement, outcome: Outcome) -> None:
        """Takes back a measurement, for the reason that ``outcome`` gives."""
        self.measurements.remove(measurement)
        self.outcomes.append(outcome)
