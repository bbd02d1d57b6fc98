"""What becomes of each result: kept on disk at once, and shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.record import Record
from waitbench.model.run import PlannedRun, Result
from waitbench.reporting.progress import RunProgress
from waitbench.store import comparisons


@dataclass(frozen=True)
class Keeper:
    """Observes a session; see ``execution.session.Observer``."""

    folder: Path
    progress: RunProgress
    sum_up: Callable[[Record], None] = lambda _record: None
    """Called when nothing more will be added to a record."""

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        self.progress.extend(runs, at_most_s)

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        self.progress.repeat(runs, foreign_cores)

    def begin(self, planned: PlannedRun) -> None:
        self.progress.begin(planned)

    def end(self, planned: PlannedRun, result: Result) -> None:
        self.progress.end(planned, result)

    def skip(self, planned: PlannedRun) -> None:
        self.progress.skip(planned)

    def keep(self, record: Record, result: Result) -> None:
        comparisons.append(self.folder, record, result)

    def complete(self, record: Record) -> None:
        self.sum_up(record)
