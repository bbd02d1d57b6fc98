"""The end of a comparison, wherever its runs were made: tables, charts, verdict, exit code."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from waitbench import families
from waitbench.analysis import statistics
from waitbench.analysis.bisection import Searched
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import ExitCode, HarnessError
from waitbench.model.record import Record
from waitbench.model.share import Share
from waitbench.pipeline.gating import Gate
from waitbench.reporting import comparison as reporting
from waitbench.reporting import machines, summary, traces
from waitbench.reporting.console import make_console, print_document, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.gate import document
from waitbench.reporting.gate_formats import FORMATS, annotations
from waitbench.reporting.gate_formats import plain as plain_verdict
from waitbench.store import comparisons, timelines
from waitbench.store.comparisons import Contents
from waitbench.system import files
from waitbench.system.installation import called

VERDICT_NAME = "verdict"
CHART_FORMATS = ("png", "svg")


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where things are said, and how much."""

    quiet: bool
    as_json: bool
    progress_only: bool = False
    """Whether only progress is said: what comes of it is for the caller to say."""

    @property
    def answers(self) -> Console:
        return make_console()

    @property
    def progress(self) -> Console:
        return make_console(stderr=True) if self.is_silent else self.answers

    @property
    def is_silent(self) -> bool:
        """Whether stdout is for something else than tables and sentences."""
        return self.as_json or self.progress_only


class UnreadFailure(HarnessError):
    """A gate failed, and its verdict could not be printed: the exit code says it nevertheless."""

    exit_code = ExitCode.REGRESSION

    def __init__(self, folder: Path) -> None:
        path = folder / f"{VERDICT_NAME}.json"
        super().__init__(f"the gate failed, and the output cannot be written: see {path}.")


@dataclass(frozen=True, kw_only=True)
class Concluding:
    """Says what a comparison means."""

    gate: Gate
    share: Share
    """What of the comparison there is here: a verdict is only of all of it."""
    plot: bool
    is_traced: bool
    output: Output

    def sum_up(self, record: Record, more: Sequence[Table]) -> None:
        """Says what one scenario shows; ``more`` are tables of what is not in its record."""
        comparison, answers = self._compare(record), self.output.answers
        if self.output.is_silent:
            return
        if not self.output.quiet:
            reporting.print_comparison(comparison, answers)
            print_tables(more, answers)
            return
        for sentence in reporting.sentences(comparison):
            answers.print(f"{comparison.scenario}: {sentence}", soft_wrap=True)

    def conclude(self, records: Sequence[Record], folder: Path) -> ExitCode:
        """Says what all of them mean, in their order, once they are in the folder.

        Returns the exit code.
        """
        contents = comparisons.of_memory(folder, records)
        drawn = draw(contents, ("png",)) if self.plot else []
        code = self._judge(records, contents)
        if not self.output.is_silent:
            noun = "chart" if len(drawn) == 1 else "charts"
            charts = f", {len(drawn)} {noun} (*.png)" if drawn else ""
            self.output.answers.print(
                f"Results in {folder}: *.json, runs.csv{charts}", soft_wrap=True
            )
        if not self.share.is_whole:
            self._say_what_is_left(folder)
        return code

    def say_so_far(self, records: Sequence[Record]) -> None:
        """Says what an interrupted comparison shows. Nothing is written."""
        if not any(record.measurements for record in records):
            return
        console = self.output.progress
        console.print("\nInterrupted. What was measured so far says:")
        verdict = self._verdict(records)
        if verdict is not None:
            print_document(document(verdict), console)
        else:
            summary.print_summary([self._compare(record) for record in records], console)

    def _judge(self, records: Sequence[Record], contents: Contents) -> ExitCode:
        verdict = self._verdict(records)
        try:
            # First of all: whoever reads what is printed may have gone.
            if verdict is not None:
                publish(verdict, self.gate, contents.folder)
        finally:
            try:
                self._say(records, contents, verdict)
            except (OSError, SystemExit) as error:  # rich makes the one of the other
                if verdict is None or verdict.exit_code != ExitCode.REGRESSION:
                    raise
                raise UnreadFailure(contents.folder) from error
        if verdict is not None:
            return verdict.exit_code
        return ExitCode.FAILED if any(record.failures for record in records) else ExitCode.OK

    def _say(
        self, records: Sequence[Record], contents: Contents, verdict: GateVerdict | None
    ) -> None:
        compared = [self._compare(record) for record in records]
        answers = self.output.answers
        if not self.output.is_silent and not self.output.quiet:
            print_tables(families.tables(contents), answers)
            summary.print_summary(compared, answers)
            where = machines.where_measured(records)
            if where is not None:
                answers.print(where, soft_wrap=True)
        if verdict is not None and not self.output.is_silent:
            _show(verdict, answers)
            if verdict.failures and not self.is_traced:
                answers.print(traces.OFFER, soft_wrap=True)
        if self.output.as_json:
            data: object = reporting.plain(compared)
            if verdict is not None:
                data = {"comparisons": data, "verdict": plain_verdict(verdict)}
            # Never coloured, whatever the terminal is said to be.
            print(json.dumps(data, indent=2))

    def _compare(self, record: Record) -> Comparison:
        """The same before the last scenario is done as after it, and here as elsewhere."""
        return statistics.compare(record, scenarios=len(self.share.of))

    def _verdict(self, records: Sequence[Record]) -> GateVerdict | None:
        judged = self.gate.is_on and self.share.is_whole
        return self.gate.conclude(records) if judged else None

    def _say_what_is_left(self, folder: Path) -> None:
        number, all_of_them = len(self.share.scenarios), len(self.share.of)
        verdict = "The tables and the verdict" if self.gate.is_on else "The tables"
        self.output.progress.print(
            f"{self.share.title}: {number} of {all_of_them} scenarios. {verdict} of all of them "
            f"come from {called('merge')} {folder} … with the folders of the others.",
            soft_wrap=True,
        )


def _show(verdict: GateVerdict, output: Console) -> None:
    """Prints a verdict, on GitHub with annotations."""
    print_document(document(verdict), output)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for annotation in annotations(verdict):
            output.print(annotation, soft_wrap=True)


def publish(verdict: GateVerdict, asked: Gate, folder: Path) -> None:
    """Writes a verdict wherever it was asked for. Raises ``HarnessError``."""
    writes = [partial(comparisons.write_document, folder, VERDICT_NAME, plain_verdict(verdict))]
    writes += [
        partial(files.write_text, report.path, FORMATS[report.format](verdict))
        for report in asked.reports
    ]
    publish_markdown(FORMATS["markdown"](verdict), None, writes)


def publish_markdown(
    rendered: str, path: Path | None, others: Sequence[Callable[[], object]] = ()
) -> None:
    """Makes some writes, and those of Markdown: into a file that was named, and the job's summary.

    One after the other, whatever happens to any. Raises ``HarnessError`` that names those that
    failed.
    """
    writes = list(others)
    if path is not None:
        writes.append(partial(files.write_text, path, rendered))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        # Appended, as the runner expects of every step.
        writes.append(partial(files.append_line, Path(summary), rendered))
    errors = []
    for write in writes:
        try:
            write()
        except HarnessError as error:
            errors.append(str(error))
    if errors:
        raise HarnessError("\n".join(errors))


def draw(contents: Contents, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for into the folder. Returns the files."""
    # Here, not above: matplotlib takes a second to import, which no error message should wait for.
    from waitbench.reporting import charts

    compared = statistics.compare_all(contents.records)
    sampled = {scenario: timelines.read(path) for scenario, path in contents.timelines.items()}
    drawn = charts.draw_all(compared, sampled, contents.folder, formats)
    of_families = families.figures(contents)
    return drawn + [
        charts.save(figure, contents.folder, name, form)
        for name, figure in of_families.items()
        for form in formats
    ]


def draw_search(searched: Searched, folder: Path, name: str) -> list[str]:
    """Writes the chart of a search, if anything was measured. Returns the names of the files."""
    from waitbench.reporting import charts
    from waitbench.reporting.charts import search

    figure = search.draw(searched)
    return [charts.save(figure, folder, name, "png").name] if figure is not None else []
