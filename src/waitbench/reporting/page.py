"""Composes the page of a comparison."""

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain

from waitbench.analysis.results import decisive
from waitbench.model.metrics import METRIC_ORDER
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import SHOWN_DIGITS, Revision
from waitbench.model.run import HARMLESS
from waitbench.reporting import bars, idle
from waitbench.reporting.document import Column, Heading, Report, Section, Table, TextCell
from waitbench.reporting.findings import Findings, gate_table, result_table
from waitbench.reporting.formats import NOTHING, format_count, format_quantity, format_values
from waitbench.store.comparisons import StoredComparison
from waitbench.system.installation import as_called


def compose(contents: StoredComparison, findings: Findings, price: float | None = None) -> Report:
    records = contents.records
    title = f"Relative to {findings.labels[0]}" if findings.labels[1:] else "Means"
    first = result_table(findings, findings.main, title)
    names = {record.scenario for record in records}
    contributed = chain.from_iterable(it.sections for it in findings.contributions)
    sections = [section for section in contributed if section.title not in names]
    if findings.verdict is not None:
        shown, others = decisive(findings.judgements)
        first = gate_table(findings, shown, "What the gate asked")
        if others:
            more = format_count(len(others), "more question", "more questions")
            table = gate_table(findings, others, more)
            sections.append(Section(title=more, tables=[table]))
    if in_units := idle.tables(findings.comparisons, price):
        sections.append(Section(title="In plain units", tables=in_units))
    sections += [_scenario(findings, it) for it in records]
    failed = sum(len(record.failures) for record in records)
    runs = format_count(sum(len(record.measurements) for record in records), "run", "runs")
    return Report(
        title=findings.title,
        facts=(
            findings.basis,
            format_count(len(records), "scenario", "scenarios"),
            format_time(contents.comparison.started_at),
            f"{runs}, {failed or 'none'} failed",
        ),
        notes=findings.distinct_notes,
        bars=[*bars.compose(findings.comparisons).values()],
        tables=[first] if first.rows else [],
        sections=[*sections, _source(contents)],
    )


def _scenario(findings: Findings, record: ScenarioResults) -> Section:
    contributed = chain.from_iterable(it.sections for it in findings.contributions)
    more = [section for section in contributed if section.title == record.scenario]
    results = [it for it in findings.results if it.scenario == record.scenario]
    tables = [result_table(findings, results, "Every metric")] if results else []
    return Section(
        title=record.scenario,
        logs=tuple(_logs(record)),
        tables=(*tables, *(table for part in more for table in part.tables), _runs(record)),
    )


def _logs(record: ScenarioResults) -> Iterator[tuple[str, str]]:
    """The title and log of the last failed run of each revision and reason, unless harmless."""
    last = {(run.label, run.reason): run for run in record.failed_runs}
    for (label, reason), run in last.items():
        if run.log and reason not in HARMLESS:
            yield f"The end of the log of {label}, {reason}, round {run.round}", run.log


def _runs(record: ScenarioResults) -> Table:
    runs = sorted(record.measurements, key=lambda run: (run.round, run.position))
    columns: list[Column] = [
        (Heading("round"), [f"{run.round}" for run in runs]),
        (Heading("revision"), [run.label for run in runs]),
    ]
    metrics = {metric.name: metric for metric in record.metrics}
    names = (*METRIC_ORDER, *(metric.name for metric in record.metrics if metric.is_declared))
    for metric in (metrics[name] for name in names if name in metrics):
        values = [run.metrics.get(metric.key) for run in runs]
        if any(value is not None for value in values):
            texts = zip(format_values(values, metric.unit), values, strict=True)
            columns.append((metric.title, [TextCell(text=text, sort=it) for text, it in texts]))
    columns.append((Heading("marks"), [", ".join(run.marks) or NOTHING for run in runs]))
    return Table("Every run", columns)


def format_time(iso: str) -> str:
    return iso[:16].replace("T", " ") + " UTC"


def _source(contents: StoredComparison) -> Section:
    context = contents.comparison
    facts = {
        "command": f"{as_called('./waitbench')} {shlex.join(context.argv)}".rstrip(),
        "begun": format_time(context.started_at),
        "topology": context.topology,
        "engine": context.engine,
        "hyperfine": context.hyperfine_version,
        **dict(_machine(context.machine)),
        "waitbench": context.waitbench,
    }
    measured = [{"what": name, "is": value} for name, value in facts.items() if value]
    return Section(
        title=f"How it was measured: {contents.folder.resolve().name}",
        tables=(
            Table.of_texts("Revisions", [_facts(revision) for revision in context.revisions]),
            Table.of_texts("Measured", measured),
        ),
    )


def _machine(machine: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in machine.items():
        if name.endswith("_bytes") and isinstance(value, int):
            yield name.removesuffix("_bytes").replace("_", " "), format_quantity(value, "byte")
        elif value is not None:
            yield name.replace("_", " "), str(value)


def _facts(revision: Revision) -> dict[str, str]:
    facts = revision.build
    commit = (revision.commit or "")[:SHOWN_DIGITS]
    texts = {
        "revision": revision.label,
        "asked for": revision.text,
        "origin": revision.origin.value,
        "version": facts.package_version if facts else "",
        "commit": " ".join(filter(None, (commit, (revision.commit_date or "")[:10]))),
        "Python": facts.python if facts else "",
        "compiler": (facts.compiler if facts else None) or "",
        "package": facts.package_sha256[:SHOWN_DIGITS] if facts else "not built",
    }
    return {name: text or NOTHING for name, text in texts.items()}
