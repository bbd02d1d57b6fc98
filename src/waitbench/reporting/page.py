"""Findings of one comparison, or the history of many -> everything that a page shows."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from waitbench.analysis.gate import failed_runs
from waitbench.analysis.history import ChangePoint, Trend
from waitbench.analysis.results import Note, decisive
from waitbench.analysis.scan import scans
from waitbench.analysis.statistics import FIRST, Comparison
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record, RevisionRecord
from waitbench.model.run import HARMLESS
from waitbench.model.why import Why
from waitbench.reporting import bars, forest, history, idle, notes, scan, why
from waitbench.reporting.answer import Findings, costs, gate_table
from waitbench.reporting.document import Column, Heading, Page, Section, Table, Word
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.formats import (
    NOTHING,
    format_count,
    format_quantity,
    format_values,
)
from waitbench.reporting.idle import Price
from waitbench.store.comparisons import Contents
from waitbench.system.installation import as_called

COSTS = ("idle", "cpu", "system", "real")
"""What a page of many comparisons has the history of."""
_SHOWN_DIGITS = 12

Trends = Mapping[str, Sequence[Trend]]
"""By the metric's name."""


def compose(
    contents: Contents,
    comparisons: Sequence[Comparison],
    found: Findings,
    reasons: Mapping[str, Sequence[Why]] = MappingProxyType({}),
    price: Price | None = None,
) -> Page:
    """A page of one comparison: the gate's table, or what each scenario costs; all else folded.

    ``reasons`` say who wakes up, by scenario.
    """
    colours, records = colours_of(found.labels), contents.records
    title = f"Relative to {found.labels[0]}" if found.labels[1:] else "Means"
    first = costs(found, found.main, title, colours)
    sections = [Section(title=scan.title(one), tables=scan.tables([one])) for one in scans(records)]
    if found.judgements is not None:
        decides, others = decisive(found.judgements)
        first = gate_table(found, decides, "What the gate asked", colours, in_parts=True)
        if others:
            more = format_count(len(others), "more question", "more questions")
            table = gate_table(found, others, more, colours)
            sections.append(Section(title=more, tables=[table]))
    in_units = idle.tables(comparisons, price)
    if in_units:
        sections.append(Section(title="In plain units", tables=in_units))
    sections += [_scenario(found, one, colours, reasons.get(one.scenario, ())) for one in records]
    failed = sum(len(record.failures) for record in records)
    runs = format_count(sum(len(record.measurements) for record in records), "run", "runs")
    return Page(
        title=found.title,
        facts=(
            found.basis,
            format_count(len(records), "scenario", "scenarios"),
            moment(contents.comparison.started_at),
            f"{runs}, {failed or 'none'} failed",
        ),
        notes=found.shown,
        bars=bars.of(comparisons),
        tables=[first] if first.rows else [],
        sections=[*sections, _source(contents)],
    )


def _scenario(
    found: Findings, record: Record, colours: Mapping[str, str], reasons: Sequence[Why]
) -> Section:
    """Everything that is known of one scenario."""
    results = [one for one in found.results if one.scenario == record.scenario]
    return Section(
        title=record.scenario,
        logs=tuple(_logs(record)),
        tables=(
            *([costs(found, results, "Every metric", colours)] if results else []),
            *why.tables(record.scenario, reasons),
            _runs(record),
        ),
        flames=why.flames(reasons),
    )


def _logs(record: Record) -> Iterator[tuple[str, str]]:
    """The end of what was printed by the last failed run of each revision, for each reason."""
    last = {(one.label, one.reason): one for one in record.outcomes}
    for (label, reason), one in last.items():
        if one.log and reason not in HARMLESS:
            yield f"The end of the log of {label}, {reason}, round {one.round}", one.log


def _runs(record: Record) -> Table:
    """Every run, in the order in which they were made."""
    runs = sorted(record.measurements, key=lambda run: (run.round, run.position))
    known = {metric.name: metric for metric in record.metrics}
    own = (metric.name for metric in record.metrics if metric.is_own)
    columns: list[Column] = [
        (Heading("round"), [f"{run.round}" for run in runs]),
        (Heading("revision"), [run.label for run in runs]),
    ]
    for metric in (known[name] for name in (*FIRST, *own) if name in known):
        values = [run.metrics.get(metric.key) for run in runs]
        if any(value is not None for value in values):
            texts = zip(format_values(values, metric.unit), values, strict=True)
            columns.append((metric.title, [Word(text=text, sort=it) for text, it in texts]))
    columns.append((Heading("marks"), [", ".join(run.marks) or NOTHING for run in runs]))
    return Table("Every run", columns)


def compose_history(several: Sequence[Contents], trends: Trends, newest: int) -> Page:
    """A page of many comparisons: the history of what they measured relative to one revision.

    ``newest``: only so many revisions are shown of each; 0 for all.
    """
    found = [
        (BY_NAME[name], title, one)
        for name, own in trends.items()
        for title, one in history.titled(own).items()
    ]
    latest = [history.of_entry([*one.ratios][-1], one, title, it) for it, title, one in found]
    records = [record for contents in several for record in contents.records]
    scenarios = len({record.scenario for record in records})
    begun = sorted(moment(contents.comparison.started_at) for contents in several)
    failures = [*notes.failures(run for record in records for run in failed_runs(record))]
    sections = [
        Section(title=f"{at}: {it.title}", tables=[history.table(one, at, it, newest)])
        for it, at, one in found
    ]
    tables = []
    if latest:
        labels = dict.fromkeys(one.revision for one in latest)
        title = f"{' or '.join(labels)}, the newest, relative to {found[0][2].anchor}"
        axis = forest.axis_of(latest)
        tables.append(forest.tabulate(title, latest, history.COLUMNS, axis=axis))
    sections.append(Section(title="How it was measured", tables=[_sources(several)]))
    compared = format_count(len(several), "comparison", "comparisons")
    return Page(
        title=f"What workers cost while they wait: {compared}",
        facts=(
            format_count(scenarios, "scenario", "scenarios"),
            " to ".join(dict.fromkeys((begun[0], begun[-1]))),
        ),
        notes=(*_steps(found), *failures),
        tables=tables,
        sections=sections,
    )


def _steps(found: Sequence[tuple[Metric, str, Trend]]) -> list[Note]:
    """The change points of the cost that is looked at first, those at one revision together."""
    at: dict[tuple[str, bool], list[tuple[str, ChangePoint]]] = {}
    for metric, title, one in found:
        if metric == found[0][0]:
            for step in one.change_points:
                at.setdefault((step.after, step.is_rise), []).append((title, step))
    return [history.change_points(steps, found[0][0]) for steps in at.values()]


def moment(iso: str) -> str:
    """A moment to the minute."""
    return iso[:16].replace("T", " ") + " UTC"


def _sources(several: Sequence[Contents]) -> Table:
    """Which comparisons they are, and how to make them again."""
    of = [contents.comparison for contents in several]
    return Table(
        "Comparisons",
        (
            (Heading("folder"), [contents.folder.resolve().name for contents in several]),
            (Heading("begun"), [moment(one.started_at) for one in of]),
            (Heading("machine"), [notes.machine_name(one.machine) for one in of]),
            (Heading("command"), [_command(contents) for contents in several]),
        ),
    )


def _command(contents: Contents) -> str:
    return f"{as_called('./waitbench')} {shlex.join(contents.comparison.argv)}".rstrip()


def _source(contents: Contents) -> Section:
    """How one comparison was measured."""
    context = contents.comparison
    revisions = [_facts(one) for one in context.revisions]
    known = {
        "command": _command(contents),
        "begun": moment(context.started_at),
        "topology": context.topology,
        "engine": context.engine,
        "hyperfine": context.hyperfine_version,
        **dict(_machine(context.machine)),
        "waitbench": context.waitbench,
    }
    texts = {name: value for name, value in known.items() if value}
    measured = Table("Measured", [(Heading("what"), [*texts]), (Heading("is"), [*texts.values()])])
    columns = [(Heading(name), [of[name] or NOTHING for of in revisions]) for name in revisions[0]]
    return Section(
        title=f"How it was measured: {contents.folder.resolve().name}",
        tables=(Table("Revisions", columns), measured),
    )


def _machine(machine: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in machine.items():
        if name.endswith("_bytes") and isinstance(value, int):
            yield name.removesuffix("_bytes").replace("_", " "), format_quantity(value, "byte")
        elif value is not None:
            yield name.replace("_", " "), str(value)


def _facts(revision: RevisionRecord) -> dict[str, str]:
    facts = revision.facts
    commit = (revision.commit or "")[:_SHOWN_DIGITS]
    return {
        "revision": revision.label,
        "asked for": revision.text,
        "origin": revision.origin,
        "version": facts.package_version if facts else "",
        "commit": " ".join(filter(None, (commit, (revision.commit_date or "")[:10]))),
        "Python": facts.python if facts else "",
        "compiler": (facts.compiler if facts else None) or "",
        "package": facts.package_sha256[:_SHOWN_DIGITS] if facts else "not built",
    }
