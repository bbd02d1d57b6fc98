"""The end of a comparison, wherever its runs were made: tables, charts, verdict, exit code."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from waitbench.analysis import results, statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.scan import scans
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import ExitCode
from waitbench.model.record import Record
from waitbench.model.why import Why
from waitbench.pipeline.gating import gate_of
from waitbench.reporting import answer as answering
from waitbench.reporting import bars, idle, scan
from waitbench.reporting import gate_formats as of_gate
from waitbench.reporting import why as reasons
from waitbench.reporting.answer import Findings, answer, findings
from waitbench.reporting.console import make_console, print_answer, print_tables
from waitbench.reporting.document import Bars, Table
from waitbench.reporting.idle import Price
from waitbench.reporting.markdown import render_table
from waitbench.reporting.progress import PreparationLog
from waitbench.store import formats, why
from waitbench.store.comparisons import Contents
from waitbench.system import files
from waitbench.system.installation import called

VERDICT_NAME = "verdict"


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where things are said, and how much."""

    quiet: bool = False
    as_json: bool = False
    verbosity: int = 0
    """1 prints the figures of each scenario, and all questions of a gate; 2 prints all figures."""
    progress_only: bool = False
    """Whether only progress is said: what comes of it is for the caller to say."""
    price: Price | None = None
    """What a core costs by the hour."""

    @cached_property
    def answers(self) -> Console:
        """One for all: what is printed to the console that has a bar does not tear it."""
        return make_console()

    @cached_property
    def progress(self) -> Console:
        """On stderr where stdout is for something else than tables and sentences."""
        is_apart = self.as_json or self.progress_only
        return make_console(stderr=True) if is_apart else self.answers

    @cached_property
    def log(self) -> PreparationLog:
        """Says what is being set up."""
        return PreparationLog(self.progress, quiet=self.quiet)


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a comparison, or as much of it as there is, comes to."""

    contents: Contents
    compared: Sequence[Comparison]
    """Of each record."""
    verdict: GateVerdict | None
    """What its gate says; ``None`` without a gate, and of a share."""

    @property
    def records(self) -> Sequence[Record]:
        return self.contents.records

    @cached_property
    def findings(self) -> Findings:
        """All results and notes."""
        return findings(self.compared, self.verdict, scans(self.records))

    @cached_property
    def bars(self) -> Bars:
        """The costs of every revision in every scenario."""
        return bars.of(self.compared, self.findings.basis)

    @cached_property
    def reasons(self) -> Mapping[str, Sequence[Why]]:
        """Who wakes up in each scenario, where somebody looked."""
        folder = self.contents.folder
        return {one.scenario: why.of(folder, one.scenario) for one in self.records}

    def tables(self, price: Price | None, *, brief: bool = False) -> list[Table]:
        """Who wakes up, what waiting costs in plain units, what commands measure, and scans.

        In brief without those in plain units, unless there is a price.
        """
        looked = [
            table for at, found in self.reasons.items() for table in reasons.tables(at, found)
        ]
        has_units = price is not None or not brief
        in_units = idle.tables(self.compared, price) if has_units else []
        own = answering.of_commands(self.findings)
        return [*looked, *in_units, *own, *scan.tables(scans(self.records))]


def conclude(contents: Contents, output: Output, *, plot: bool = False) -> ExitCode:
    """Reports on a whole comparison, or on a share of one. Returns the exit code.

    The verdict is written first, as the reader of stdout may have gone; a chart hides neither.
    """
    found = conclusion_of(contents)
    with ExitStack() as after:
        if plot:
            after.callback(_try_to_draw, found)
        after.callback(say, found, output, has_charts=plot)
        if found.verdict is not None:
            publish(found, found.verdict, found.tables(output.price))
    if contents.comparison.share is not None:
        _say_what_is_left(contents, output)
    if found.verdict is not None:
        return found.verdict.exit_code
    return ExitCode.FAILED if any(record.failures for record in found.records) else ExitCode.OK


def say_so_far(contents: Contents, output: Output) -> None:
    """Says what an interrupted comparison shows. Nothing is written."""
    if not any(record.measurements for record in contents.records):
        return
    output.progress.print("\nInterrupted. The result so far:")
    shown = answer(conclusion_of(contents).findings)
    print_answer(replace(shown, title=f"{shown.title}, so far"), output.progress)


def _say_what_is_left(contents: Contents, output: Output) -> None:
    share, gate = contents.comparison.here, contents.comparison.settings.get("gate")
    verdict = "The tables and the verdict" if gate else "The tables"
    output.progress.print(
        f"{share.title}: {len(share.scenarios)} of {len(share.of)} scenarios. {verdict} of all of "
        f"them come from {called('merge')} {contents.folder} … with the folders of the others.",
        soft_wrap=True,
    )


def plain(found: Conclusion) -> dict[str, Any]:
    """Everything that is known, for ``--json``: results, notes, and what else was asked for."""
    data: dict[str, Any] = {
        "results": results.plain(found.findings.results),
        "notes": msgspec.to_builtins(found.findings.notes),
        "scans": scan.plain(scans(found.records)),
    }
    if found.verdict is not None:
        data["verdict"] = of_gate.plain(found.findings, found.verdict)
    return {name: value for name, value in data.items() if value or name in ("results", "notes")}


def conclusion_of(contents: Contents) -> Conclusion:
    """What a folder of results comes to, which may be a share.

    Raises ``UsageError`` where the settings of its gate cannot be read.
    """
    comparison, records = contents.comparison, contents.records
    gate = gate_of(comparison)
    scenarios = len(comparison.here.of) or len(records)
    return Conclusion(
        contents=contents,
        compared=[statistics.compare(record, scenarios=scenarios) for record in records],
        verdict=gate.conclude(records) if gate.is_on and comparison.share is None else None,
    )


def say(found: Conclusion, output: Output, *, has_charts: bool = False) -> None:
    """Prints all tables, and at last the answer; only that if quiet; or everything as JSON."""
    if output.as_json:
        # Never coloured, whatever the terminal is said to be.
        print(json.dumps(plain(found), indent=2))
        return
    console = output.answers
    if not output.quiet:
        of_each = found.compared if output.verbosity else ()
        figures = [
            answering.scenario(
                findings([one]), one.record.scenario, everything=output.verbosity > 1
            )
            for one in of_each
        ]
        print_tables([*figures, *found.tables(output.price, brief=not output.verbosity)], console)
    if not found.compared:
        return
    known = found.findings
    if known.judgements is not None and output.verbosity:
        print_tables([answering.details(known)], console)
    links = _links(found, has_charts)
    shown = replace(answer(known), links=links)
    if output.quiet:
        shown = replace(shown, tables=(), links=links[-1:])
    print_answer(shown, console)


def _links(found: Conclusion, has_charts: bool) -> tuple[tuple[str, str], ...]:
    """What is best done now, how to look at it in a browser, and where it is."""
    rounds = max(one.rounds for one in found.compared)
    argv = found.records[0].context.argv
    folder = found.contents.folder
    short = _short_path(folder)
    charts = ", charts (*.png)" if has_charts or any(folder.glob("*.png")) else ""
    return (
        *answering.next_step(found.findings, found.verdict, rounds, argv),
        ("Page", f"{called('report')} --html page.html {shlex.quote(short)}"),
        ("Results", f"{short}: *.json, runs.csv{charts}"),
    )


def _short_path(folder: Path) -> str:
    """A folder as it would be typed here."""
    with suppress(ValueError, OSError):  # which has no current folder
        return str(folder.relative_to(Path.cwd()))
    return str(folder)


def publish(found: Conclusion, verdict: GateVerdict, more: Sequence[Table] = ()) -> None:
    """Writes ``verdict.json``, ``.xml`` (JUnit) and ``.md``, which has more tables, too.

    Raises ``HarnessError``.
    """
    rendered = "\n".join((of_gate.rendered(found.findings), *map(render_table, more)))
    junit = of_gate.junit(found.findings, verdict)
    data = of_gate.plain(found.findings, verdict)
    folder = found.contents.folder
    formats.write(folder, VERDICT_NAME, data)
    files.write_text(folder / f"{VERDICT_NAME}.xml", junit)
    publish_markdown(rendered, folder / f"{VERDICT_NAME}.md")


def publish_markdown(rendered: str, path: Path) -> None:
    """Writes Markdown into a file, and then into the job's summary. Raises ``HarnessError``."""
    files.write_text(path, rendered)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        # Appended, as the runner expects of every step.
        files.append_line(Path(os.path.realpath(summary)), rendered)


def draw(found: Conclusion, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for into the folder. Returns the files."""
    # Here, not above: matplotlib takes a second to import, which no error message should wait for.
    from waitbench.reporting import charts

    return charts.draw_all(
        found.findings, found.bars, found.contents.folder, formats, scans(found.records)
    )


def _try_to_draw(found: Conclusion) -> None:
    """Draws the charts of a comparison. Prints why where that fails: its results are whole."""
    try:
        draw(found, ("png",))
    except Exception as error:
        again = f"{called('plot')} {shlex.quote(_short_path(found.contents.folder))}"
        text = f"Charts could not be drawn: {error} Try again: {again}"
        make_console(stderr=True).print(text, soft_wrap=True)


def draw_table(table: Table, folder: Path, name: str) -> None:
    """Writes the chart of a table, if it has any row."""
    from waitbench.reporting import charts

    if table.rows:
        charts.save(charts.forest.draw(table), folder, name, "png")
