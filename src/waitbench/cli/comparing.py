"""One comparison from a request to its exit code: calls the stations in order."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from waitbench.analysis import statistics
from waitbench.cli import drawing, gating
from waitbench.cli.extras import Extras, ExtrasAtWork
from waitbench.cli.gating import Gate
from waitbench.cli.guiding import GateGuide
from waitbench.cli.keeper import Keeper
from waitbench.cli.preparation import Prepared, prepare
from waitbench.cli.request import Request, ValidRequest, validate
from waitbench.cli.resuming import begin_records, kept_in
from waitbench.execution import plan
from waitbench.execution.session import Session
from waitbench.families import tables as family_tables
from waitbench.model.errors import ExitCode, UsageError
from waitbench.model.record import Record
from waitbench.model.run import HARMLESS
from waitbench.reporting import plain, sentences, summary, tables, traces
from waitbench.reporting.console import make_console
from waitbench.reporting.gate import plain as plain_verdict
from waitbench.reporting.progress import PreparationLog, RunProgress
from waitbench.store import comparisons, folders
from waitbench.system import endings
from waitbench.system.places import RESULTS


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where things are said, and how much."""

    quiet: bool
    as_json: bool

    @property
    def answers(self) -> Console:
        return make_console()

    @property
    def progress(self) -> Console:
        return make_console(stderr=True) if self.as_json else self.answers


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """One comparison from request to exit code."""

    gate: Gate
    rounds: int
    quick: bool
    """Whether scenarios are shortened."""
    extras: Extras
    results: Path | None
    store: Path = RESULTS
    """Where a folder is made if none is named."""
    resume: bool
    plot: bool
    output: Output

    def compare(self, request: Request) -> ExitCode:
        """The main job. Raises ``HarnessError``."""
        self._validate(request)
        progress = self.output.progress
        say = PreparationLog(progress, quiet=self.output.quiet)
        valid = validate(request, say, quick=self.quick)
        self.gate.require_budget(valid)
        self.extras.require_launcher(valid.engine)
        fitting = replace(self, gate=self.gate.on(valid.instruments))
        with folders.removed_if_unused(self.results):
            return fitting._carry_out(valid, progress, say)

    def _carry_out(self, valid: ValidRequest, progress: Console, say: PreparationLog) -> ExitCode:
        # A folder that the user named is looked at before anything is built for it; a new one is
        # made when there is something to put into it.
        claimed = self._claim(valid.labels) if self.results or self.resume else None
        with endings.noted(kept_in(claimed)) if claimed and self.resume else nullcontext():
            prepared = prepare(valid, progress, say)
        folder = claimed or self._claim(prepared.request.labels)
        with folders.exclusive(folder, valid.cache), endings.noted(kept_in(folder)):
            if not self.resume:
                # Somebody may have begun and ended in it since; nothing of theirs is overwritten.
                folders.new_folder(folder)
            records = begin_records(prepared, folder, resume=self.resume)
            comparisons.begin(folder, prepared.context, self._settings(prepared))
            self._measure(prepared, records, folder, progress)
            comparisons.finish(folder, list(records.values()))
            contents = comparisons.read(folder)
            drawn = drawing.draw(contents, ("png",)) if self.plot else []
            code = self._conclude(list(records.values()), folder)
            if not self.output.as_json:
                noun = "chart" if len(drawn) == 1 else "charts"
                charts = f", {len(drawn)} {noun} (*.png)" if drawn else ""
                self.output.answers.print(
                    f"Results in {folder}: *.json, runs.csv{charts}", soft_wrap=True
                )
        return code

    def _validate(self, request: Request) -> None:
        self.extras.validate()
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

    def _claim(self, labels: Sequence[str]) -> Path:
        if self.resume:
            return folders.resumed_folder(self.results, labels, store=self.store)
        return folders.new_folder(self.results, labels, store=self.store)

    def _settings(self, prepared: Prepared) -> dict[str, object]:
        """What was asked for besides, for the result files."""
        return {
            **prepared.request.as_settings(),
            "rounds": None if self.gate.is_on else self.rounds,
            "gate": self.gate.as_settings() if self.gate.is_on else None,
        }

    def _measure(
        self, prepared: Prepared, records: Mapping[str, Record], folder: Path, progress: Console
    ) -> None:
        request, labels = prepared.request, prepared.labels
        with RunProgress(progress, quiet=self.output.quiet) as bar:
            measurer = prepared.measurer()
            extras = self.extras.at_work(request, measurer, folder, bar)
            keeper = Keeper(folder, bar, lambda record: self._sum_up(record, extras))
            session = Session(measurer, records, keeper)
            if not labels:
                return
            if self.gate.is_on:
                session.carry_out_until(
                    GateGuide(self.gate, records, request.instruments),
                    self.gate.groups(request.scenarios),
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
                    request.scenarios,
                    labels,
                    self.rounds,
                    instrumented=bool(request.instruments.keys),
                )
                session.carry_out(plan.missing(planned, done))

    def _sum_up(self, record: Record, extras: ExtrasAtWork) -> None:
        """What is left to do when a scenario is done: extra runs, then its tables."""
        more = extras.add(record)
        comparison, answers = statistics.compare(record), self.output.answers
        if self.output.as_json:
            return
        if not self.output.quiet:
            tables.print_comparison(comparison, answers)
            for table in more:
                table.print_to(answers)
            return
        for sentence in sentences.sentences(comparison):
            text = f"{comparison.scenario}: {sentence}"
            answers.print(text, soft_wrap=True)

    def _conclude(self, records: Sequence[Record], folder: Path) -> ExitCode:
        """Says what the comparison means. Returns the exit code."""
        compared = [statistics.compare(record) for record in records]
        answers = self.output.answers
        said = not self.output.as_json and not self.output.quiet
        if said:
            for table in family_tables(comparisons.read(folder)):
                table.print_to(answers)
            summary.print_summary(compared, answers)
        code, verdict = ExitCode.OK, None
        if self.gate.is_on:
            verdict = self.gate.conclude(records)
            if not self.output.as_json:
                gating.show(verdict, answers)
                if verdict.failures and not self.extras.trace:
                    answers.print(traces.OFFER, soft_wrap=True)
            code = verdict.exit_code
        if self.output.as_json:
            data: object = plain.plain(compared)
            if verdict is not None:
                data = {"comparisons": data, "verdict": plain_verdict.plain(verdict)}
            # Never coloured, whatever the terminal is said to be.
            print(json.dumps(data, indent=2))
        if verdict is not None:
            gating.publish(verdict, self.gate, folder)
        failed = any(o.reason not in HARMLESS for record in records for o in record.outcomes)
        return ExitCode.FAILED if failed else code
