"""How much of each scenario is measured, wherever that is, and what becomes of each result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.execution import plan
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Observer, Session
from waitbench.model.record import Record
from waitbench.model.run import PlannedRun, Result
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.gating import Gate, GateGuide
from waitbench.pipeline.preparation import Prepared
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.progress import RunProgress
from waitbench.store import comparisons


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """How much is measured."""

    gate: Gate
    rounds: int
    """Of each revision in each scenario, where the gate does not decide that."""
    extras: Extras
    sharing: int = 1
    """So many comparisons share the allowed error of the gate."""

    def settings(self, request: ValidRequest) -> dict[str, object]:
        """What was asked for besides revisions and topology, for the result files."""
        return {
            **request.as_settings(),
            "rounds": None if self.gate.is_on else self.rounds,
            "gate": self.gate.as_settings() if self.gate.is_on else None,
        }

    def measure(
        self,
        prepared: Prepared,
        records: Mapping[str, Record],
        observer: Callable[[Measurer], Observer],
    ) -> None:
        """Measures what the records lack; they grow. ``observer`` makes one of what measures."""
        request, labels = prepared.request, prepared.labels
        with prepared.measuring() as measurer:
            session = Session(measurer, records, observer(measurer))
            if not labels:
                return
            if self.gate.is_on:
                elsewhere = prepared.new_records(request.elsewhere)
                session.carry_out_until(
                    GateGuide(
                        self.gate,
                        records,
                        request.instruments,
                        elsewhere.values(),
                        sharing=self.sharing,
                    ),
                    self.gate.groups(request.here),
                    labels,
                    self.gate.most_rounds,
                    self.gate.budget_s,
                )
            else:
                done = {
                    (record.scenario, run.label, run.round)
                    for record in records.values()
                    for run in record.measurements
                }
                planned = plan.schedule(
                    request.here,
                    labels,
                    self.rounds,
                    instrumented=bool(request.instruments.keys),
                )
                session.carry_out(plan.missing(planned, done))


@dataclass(frozen=True)
class RunRecorder:
    """Observes a session; see ``execution.session.Observer``."""

    folder: Path
    progress: RunProgress
    sum_up: Callable[[Record], object] = lambda _record: None
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
