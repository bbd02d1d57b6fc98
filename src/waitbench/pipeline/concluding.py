"""Reports on the results of a comparison: tables, charts, verdict, exit code."""

import json
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from waitbench.analysis import results, statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.model.errors import ExitCode
from waitbench.model.record import ScenarioResults
from waitbench.pipeline.extension import extensions
from waitbench.pipeline.gating import gate_of
from waitbench.reporting import gate_formats, idle, page
from waitbench.reporting.console import make_console, print_report, print_tables
from waitbench.reporting.document import Report, Table
from waitbench.reporting.findings import (
    Findings,
    command_tables,
    next_step,
    question_table,
    scenario_table,
    summarize,
)
from waitbench.reporting.findings import findings as make_findings
from waitbench.reporting.gate_formats import VERDICT_NAME
from waitbench.reporting.output import Output
from waitbench.store.comparisons import StoredComparison
from waitbench.system import files
from waitbench.system.installation import called


def findings_of(contents: StoredComparison) -> Findings:
    """Analyses a folder of results. A shard has no verdict.

    Raises ``UsageError`` if the settings of its gate cannot be read.
    """
    comparison, records = contents.comparison, contents.records
    gate = gate_of(comparison)
    names = {record.scenario for record in records}
    # After an interruption, scenarios without runs have no answers.
    lacking = [it for it in comparison.scenarios if it.name not in names]
    every = [*records, *(ScenarioResults(spec=it, context=comparison) for it in lacking)]
    return make_findings(
        [statistics.compare(record, scenarios=len(every)) for record in records],
        gate.conclude(every) if gate.is_on and comparison.shard is None else None,
        contents.folder,
        [kind().contribution(contents.folder, records) for kind in extensions()],
    )


def tables(findings: Findings, price: float | None, *, brief: bool = False) -> list[Table]:
    """Tables of idle costs, of metrics that measured commands report, and of features.

    With ``brief``, idle costs are left out, unless there is a price.
    """
    idle_tables = idle.tables(findings.comparisons, price) if price or not brief else []
    contributed = (table for it in findings.contributions for table in it.tables)
    return [*idle_tables, *command_tables(findings), *contributed]


def conclude(contents: StoredComparison, output: Output, *, plot: bool = False) -> ExitCode:
    """Reports on a comparison, or on a shard. Returns the exit code.

    Writes the files of the verdict first, as printing may fail, and draws last, as that may fail.
    """
    findings = findings_of(contents)
    try:
        if findings.verdict is not None:
            publish(findings, findings.verdict, tables(findings, output.price))
    finally:
        try:
            print_results(findings, output, has_charts=plot)
        finally:
            if plot:
                _try_to_draw(findings)
    if findings.verdict is not None:
        return findings.verdict.exit_code
    has_failed = any(record.failures for record in contents.records)
    has_runs = any(record.measurements for record in contents.records)
    return ExitCode.FAILED if has_failed or not has_runs else ExitCode.OK


def page_of(contents: StoredComparison, price: float | None = None) -> Report:
    return page.compose(contents, findings_of(contents), price)


def print_so_far(contents: StoredComparison, output: Output) -> None:
    """Prints the result of an interrupted comparison, and writes no files."""
    if not any(record.measurements for record in contents.records):
        return
    output.progress.print("\nInterrupted. The result so far:")
    shown = summarize(findings_of(contents))
    print_report(replace(shown, title=f"{shown.title}, so far"), output.progress)


def as_json(findings: Findings) -> dict[str, Any]:
    """All results, notes, contributions of features, and the verdict, for ``--json``."""
    data: dict[str, Any] = {
        "results": results.as_json(findings.results),
        "notes": msgspec.to_builtins(findings.notes),
    }
    for contribution in findings.contributions:
        data |= contribution.json
    if findings.verdict is not None:
        data["verdict"] = gate_formats.as_json(findings, findings.verdict)
    return {name: value for name, value in data.items() if value or name in ("results", "notes")}


def print_results(findings: Findings, output: Output, *, has_charts: bool = False) -> None:
    """Prints tables, then the answer; with ``quiet``, only the answer; with ``as_json``, JSON."""
    if output.as_json:
        # Not by the console, which may colour its output.
        print(json.dumps(as_json(findings), indent=2))
        return
    console = output.answers
    if not output.quiet:
        figures = [
            scenario_table(
                replace(make_findings([it]), results=findings.results),
                it.record.scenario,
                everything=output.verbosity > 1,
            )
            for it in (findings.comparisons if output.verbosity else ())
        ]
        print_tables(
            [*figures, *tables(findings, output.price, brief=not output.verbosity)], console
        )
    if not findings.comparisons:
        return
    if findings.verdict is not None and output.verbosity:
        print_tables([question_table(findings)], console)
    links = _links(findings, has_charts)
    shown = replace(summarize(findings), links=links)
    if output.quiet:
        shown = replace(shown, tables=(), links=links[-1:])
    print_report(shown, console)


def _links(findings: Findings, has_charts: bool) -> tuple[tuple[str, str], ...]:
    """Pairs of a title and a text: the next step, the command for a page, and the folder."""
    path = _short_path(findings.folder)
    charts = ", charts (*.png)" if has_charts or any(findings.folder.glob("*.png")) else ""
    step = next_step(findings)
    return (
        *([("Next", step)] if step else []),
        ("Page", f"{called('report')} --html page.html {shlex.quote(path)}"),
        ("Results", f"{path}: *.json, runs.csv{charts}"),
    )


def _short_path(folder: Path) -> str:
    """The path of a folder, relative to the current folder if it is inside that."""
    with suppress(ValueError, OSError):  # The current folder may be gone.
        return str(folder.relative_to(Path.cwd()))
    return str(folder)


def publish(findings: Findings, verdict: GateVerdict, more: Sequence[Table] = ()) -> None:
    """Writes a verdict in each format, with tables in Markdown. Raises ``HarnessError``."""
    for suffix, text in gate_formats.texts(findings, verdict, more).items():
        publish_text = publish_markdown if suffix == "md" else files.write_text
        publish_text(findings.folder / f"{VERDICT_NAME}.{suffix}", text)


def publish_markdown(path: Path, rendered: str) -> None:
    """Writes Markdown into a file, and in GitHub jobs into the summary. Raises ``HarnessError``."""
    files.write_text(path, rendered)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        # GitHub expects each step to append to this file.
        files.append_line(Path(os.path.realpath(summary)), rendered)


def _try_to_draw(findings: Findings) -> None:
    """Draws the charts, or prints why that fails. The results are complete without them."""
    try:
        # Imported late: matplotlib takes a second.
        from waitbench.reporting import charts

        charts.draw_all(findings)
    except Exception as error:
        again = f"{called('plot')} {shlex.quote(_short_path(findings.folder))}"
        text = f"Charts could not be drawn: {error} Try again: {again}"
        make_console(stderr=True).print(text, soft_wrap=True)
