"""The end of a comparison, wherever its runs were made: tables, charts, verdict, exit code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.analysis import statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.cli import drawing, gating
from waitbench.cli.gating import Gate
from waitbench.cli.output import Output
from waitbench.families import tables as family_tables
from waitbench.model.errors import ExitCode
from waitbench.model.record import Record
from waitbench.model.run import HARMLESS
from waitbench.model.share import Share
from waitbench.reporting import machines, plain, sentences, summary, tables, traces
from waitbench.reporting.cell_table import CellTable
from waitbench.reporting.gate import plain as plain_verdict
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents


@dataclass(frozen=True, kw_only=True)
class Concluding:
    """Says what a comparison means."""

    gate: Gate
    share: Share
    """What of the comparison there is here: a verdict is only of all of it."""
    plot: bool
    is_traced: bool
    output: Output

    def sum_up(self, record: Record, more: Sequence[CellTable]) -> None:
        """Says what one scenario shows; ``more`` are tables of what is not in its record."""
        comparison, answers = statistics.compare(record), self.output.answers
        if self.output.as_json:
            return
        if not self.output.quiet:
            tables.print_comparison(comparison, answers)
            for table in more:
                table.print_to(answers)
            return
        for sentence in sentences.sentences(comparison):
            answers.print(f"{comparison.scenario}: {sentence}", soft_wrap=True)

    def conclude(self, records: Sequence[Record], folder: Path) -> ExitCode:
        """Says what all of them mean, in their order, once they are in the folder.

        Returns the exit code.
        """
        contents = comparisons.read(folder)
        drawn = drawing.draw(contents, ("png",)) if self.plot else []
        code = self._judge(records, contents)
        if not self.output.as_json:
            noun = "chart" if len(drawn) == 1 else "charts"
            charts = f", {len(drawn)} {noun} (*.png)" if drawn else ""
            self.output.answers.print(
                f"Results in {folder}: *.json, runs.csv{charts}", soft_wrap=True
            )
        if not self.share.is_whole:
            self._say_what_is_left(folder)
        return code

    def _judge(self, records: Sequence[Record], contents: Contents) -> ExitCode:
        compared = [statistics.compare(record) for record in records]
        answers = self.output.answers
        if not self.output.as_json and not self.output.quiet:
            for table in family_tables(contents):
                table.print_to(answers)
            summary.print_summary(compared, answers)
            where = machines.sentence(records)
            if where is not None:
                answers.print(where, soft_wrap=True)
        code, verdict = ExitCode.OK, self._verdict(records)
        if verdict is not None:
            if not self.output.as_json:
                gating.show(verdict, answers)
                if verdict.failures and not self.is_traced:
                    answers.print(traces.OFFER, soft_wrap=True)
            code = verdict.exit_code
        if self.output.as_json:
            data: object = plain.plain(compared)
            if verdict is not None:
                data = {"comparisons": data, "verdict": plain_verdict.plain(verdict)}
            # Never coloured, whatever the terminal is said to be.
            print(json.dumps(data, indent=2))
        if verdict is not None:
            gating.publish(verdict, self.gate, contents.folder)
        failed = any(o.reason not in HARMLESS for record in records for o in record.outcomes)
        return ExitCode.FAILED if failed else code

    def _verdict(self, records: Sequence[Record]) -> GateVerdict | None:
        judged = self.gate.is_on and self.share.is_whole
        return self.gate.conclude(records) if judged else None

    def _say_what_is_left(self, folder: Path) -> None:
        number, all_of_them = len(self.share.scenarios), len(self.share.of)
        verdict = "The tables and the verdict" if self.gate.is_on else "The tables"
        self.output.progress.print(
            f"{self.share.title}: {number} of {all_of_them} scenarios. {verdict} of all of them "
            f"come from ./waitbench merge {folder} … with the folders of the others.",
            soft_wrap=True,
        )
