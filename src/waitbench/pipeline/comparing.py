"""One comparison from a request to its exit code: calls the stations in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from waitbench.execution.measure import Measurer
from waitbench.model.errors import ExitCode, UsageError
from waitbench.model.record import Record
from waitbench.pipeline.concluding import Concluding, Output
from waitbench.pipeline.explaining import explain, require_possible
from waitbench.pipeline.gating import NO_GATE, Gate
from waitbench.pipeline.measuring import RunRecorder, measure
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import kept_in, recording
from waitbench.reporting.progress import PreparationLog
from waitbench.store import comparisons, folders
from waitbench.system import endings
from waitbench.system.places import RESULTS

_Prepared = TypeVar("_Prepared")


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """One comparison from request to exit code."""

    gate: Gate = NO_GATE
    rounds: int
    """Of each revision in each scenario, where the gate does not decide that."""
    quick: bool = False
    """Whether scenarios are shortened."""
    why: bool = False
    """Whether to look at who wakes up, in one more run of each revision."""
    results: Path | None = None
    store: Path = RESULTS
    """Where a folder is made if none is named."""
    resume: bool = False
    plot: bool = False
    output: Output
    receive: Callable[[Sequence[Record]], None] = lambda _records: None
    """Given all records when everything is measured."""

    def compare(self, request: Request) -> ExitCode:
        """The main job. Raises ``HarnessError``."""
        self.validate(request)
        if self.why:
            require_possible()
        progress = self.output.progress
        say = PreparationLog(progress, quiet=self.output.quiet)
        fitting, valid = self.fitting(request, say)
        with fitting.prepared_in_folder(valid, lambda: prepare(valid, progress, say)) as found:
            return fitting._carry_out(*found)

    def fitting(self, request: Request, say: PreparationLog) -> tuple["Comparing", ValidRequest]:
        """The same with a gate that can be asked, and what it compares. Raises ``UsageError``."""
        valid = validate(request, say, quick=self.quick)
        self.gate.require_budget(valid)
        gate = self.gate.supported_by(valid.instruments, valid.scenarios)
        return replace(self, gate=gate), valid

    @contextmanager
    def prepared_in_folder(
        self,
        valid: ValidRequest,
        make: Callable[[], _Prepared],
        resumable: Callable[[Path], object] = comparisons.resume,
    ) -> Iterator[tuple[_Prepared, Path]]:
        """What is prepared, and the folder of the results, ours alone as long as the block lasts.

        A folder that the user named is ours before anything is built for it; a new one is made when
        there is something to put into it. See ``store.folders.claimed`` of ``resumable``.
        """
        resumed = resumable if self.resume else None
        claim = folders.claimed(self.results, valid.labels, store=self.store, resumable=resumed)
        with ExitStack() as stack:
            folder = stack.enter_context(claim) if self.results or self.resume else None
            if folder is not None and self.resume:
                stack.enter_context(endings.noted(kept_in(folder)))
            prepared = make()
            folder = folder or stack.enter_context(claim)
            stack.enter_context(endings.noted(kept_in(folder)))
            yield prepared, folder

    def _carry_out(self, prepared: Prepared, folder: Path) -> ExitCode:
        settings = {
            **prepared.request.as_settings(),
            "rounds": None if self.gate.is_on else self.rounds,
            "gate": self.gate.as_settings() if self.gate.is_on else None,
        }
        say = self.output.progress.print
        with recording(prepared, folder, settings, resume=self.resume, say=say) as records:
            self._measure(prepared, records, folder)
        self.receive(list(records.values()))
        return self.concluding(prepared.request).conclude(list(records.values()), folder)

    def concluding(self, valid: ValidRequest) -> Concluding:
        """What says what it means, wherever it was measured."""
        return Concluding(gate=self.gate, share=valid.share, plot=self.plot, output=self.output)

    def validate(self, request: Request) -> None:
        """Raises ``UsageError`` for what can be seen to be wrong without looking anything up."""
        self.gate.validate()
        if self.rounds < 1:
            raise UsageError(f"--rounds {self.rounds}: must be at least 1.")
        if not self.gate.budget_s > 0:
            raise UsageError(f"--budget {self.gate.budget_s:g}: must be above zero seconds.")
        if self.gate.is_on and len(request.revisions) < 2:
            raise UsageError(
                "The gate (--gate, --fail-on) compares candidates with a baseline: name at least "
                "two revisions."
            )

    def _measure(self, prepared: Prepared, records: Mapping[str, Record], folder: Path) -> None:
        concluding = self.concluding(prepared.request)
        scenarios = prepared.request.scenarios

        bar = RunRecorder(self.output.progress, folder, quiet=self.output.quiet)

        def observed_by(measurer: Measurer) -> RunRecorder:
            def sum_up(record: Record) -> None:
                (scenario,) = (one for one in scenarios if one.name == record.scenario)
                # What is left to do when a scenario is done: extra runs, then its tables.
                tables = explain(scenario, measurer.bench, folder, bar) if self.why else []
                concluding.sum_up(record, tables)

            bar.sum_up = sum_up
            return bar

        try:
            with bar:
                measure(prepared, records, self.gate, self.rounds, observed_by)
        except endings.Ended:
            concluding.say_so_far(list(records.values()), folder)
            raise
