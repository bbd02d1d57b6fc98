"""One comparison, or the history of many -> everything that a page shows."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.history import ChangePoint, Trend
from waitbench.analysis.scan import scans
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.verdicts import GateOutcome
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record, RevisionRecord
from waitbench.model.run import HARMLESS, Measurement
from waitbench.model.why import Why
from waitbench.reporting import forest, gate, history, idle, machines, scan, svg, why
from waitbench.reporting.document import (
    Answer,
    Cell,
    Heading,
    Headline,
    Log,
    Page,
    Section,
    Table,
    Word,
)
from waitbench.reporting.drawing import Axis, colours_of
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.formats import (
    NOTHING,
    format_bytes,
    format_count,
    format_digits,
    unit_for,
)
from waitbench.reporting.idle import Price
from waitbench.reporting.shortening import named, named_verdict, short_names
from waitbench.store.comparisons import Contents
from waitbench.system.installation import as_called

COSTS = ("steady", "cpu", "system", "real")
"""What a page of many comparisons has the history of."""
_REVISIONS = (
    "revision", "asked for", "origin", "version", "commit", "Python", "compiler", "package",
)  # fmt: skip
_SHOWN_DIGITS = 12
_DIGITS = 3
"""Of a figure of one run."""
_NAMED = 3
"""So many candidates say in a heading what a scenario comes to."""
_MOST_FAILURES = 4
"""So many stand above all else on a page of many comparisons."""
_GATE = {"change": "change", "interval": "certainly", "allowed": "allowed"}
_GATE_NOTE = (
    "“Certainly” holds over all looks. The axis shades what is allowed; a hollow dot is open, an "
    "arrow is beyond the axis."
)
_HISTORY = {"change": "change", "interval": "95 %", "sessions": "sessions"}
_NOTE = "Intervals hold for all scenarios together. The axis shades 5 %; hollow is inconclusive."

Trends = Mapping[str, Sequence[Trend]]
"""By the metric's name."""


def compose(
    contents: Contents,
    comparisons: Sequence[Comparison],
    answer: Answer,
    verdict: GateVerdict | None = None,
    reasons: Mapping[str, Sequence[Why]] = MappingProxyType({}),
    price: Price | None = None,
) -> Page:
    """A page of one comparison: the gate's table, or what each scenario costs; all else folded.

    ``reasons`` say who wakes up, by scenario.
    """
    labels = contents.comparison.labels
    names = short_names(labels)
    compared = [named(one, names) for one in comparisons]
    colours = {names.of(label): colour for label, colour in colours_of(labels).items()}
    tables, more = [_costs(compared)], []
    if verdict is not None:
        tables, folded = _gate(named_verdict(verdict, names), colours)
        more = [*folded, Section(title="What each scenario costs", tables=(_costs(compared),))]
    of_idle = idle.tables(compared, price)
    if of_idle:
        more.append(Section(title="In plain units", tables=tuple(of_idle)))
    scanned = scans(contents.records)
    return Page(
        title=answer.title,
        facts=tuple(_facts(contents, answer)),
        headlines=answer.headlines,
        failures=tuple(one.text for one in answer.warnings if one.style == "red"),
        cautions=tuple(
            [one.text for one in answer.warnings if one.style != "red"] + list(names.remarks)
        ),
        tables=tuple(tables),
        sections=(
            *(
                Section(
                    title=scan.title(one),
                    pictures=svg.of_scan(one),
                    tables=tuple(scan.tables([one])),
                )
                for one in scanned
            ),
            *more,
            *(
                _scenario(of, record, reasons.get(of.scenario, ()))
                for of, record in zip(compared, contents.records, strict=True)
            ),
            _source(contents),
        ),
    )


def _facts(contents: Contents, answer: Answer) -> Iterator[str]:
    """What was measured, when, and how many runs of it failed."""
    records = contents.records
    yield answer.basis
    yield format_count(len(records), "scenario", "scenarios")
    yield moment(contents.comparison.started_at)
    failed = sum(len(record.failures) for record in records)
    runs = format_count(sum(len(record.measurements) for record in records), "run", "runs")
    yield f"{runs}, {failed or 'none'} failed"


def _gate(verdict: GateVerdict, colours: Mapping[str, str]) -> tuple[list[Table], list[Section]]:
    """What decides, and folded up what holds; of a pass, what fell, and what is near its limit."""
    rows = forest.of_verdict(verdict, colours)
    axis = forest.gate_axis(rows)
    holds = "✓" if verdict.outcome is GateOutcome.PASS else "▼✓"
    decisive = [row for row in rows if row.mark not in holds]
    holding = [row for row in rows if row.mark in holds]
    if verdict.outcome is GateOutcome.PASS:
        decisive += sorted(holding, key=forest.headroom)[:1]
        holding = [row for row in holding if row not in decisive]
    # The table has the failures already.
    said = (*gate.remarks(verdict)[len(verdict.failures) :], _GATE_NOTE)
    first = _forest("What the gate asked", decisive, axis, _GATE, said)
    if not holding:
        return [first], []
    title = format_count(len(holding), "more question holds", "more questions hold")
    return [first], [Section(title=title, tables=(_forest(title, holding, axis, _GATE),))]


def _costs(compared: Sequence[Comparison]) -> Table:
    """What is judged in each scenario; of a revision that is compared with none, what it costs."""
    of_scenarios = [one for one in compared if one.record.scan is None] or list(compared)
    return _means(of_scenarios[0], forest.of_comparisons(of_scenarios))


def _means(of: Comparison, rows: Sequence[ForestRow]) -> Table:
    """Figures beside those of the baseline."""
    baseline, *others = (row.label for row in of.rows)
    if not others:
        return _forest("Means", rows, None, {"after": baseline})
    # Beside several candidates there is no room for the baseline's figures.
    values = {"after": "mean"} if others[1:] else {"before": baseline, "after": others[0]}
    columns = {**values, "change": "change", "interval": "95 %"}
    return _forest(f"Relative to {baseline}", rows, forest.axis_of(rows), columns, (_NOTE,))


def _forest(
    title: str,
    rows: Sequence[ForestRow],
    axis: Axis | None,
    columns: Mapping[str, str],
    said: Sequence[str] = (),
) -> Table:
    """A table with a dot and its interval in each row, and the fields that ``columns`` head.

    Names that all rows share are no column.
    """
    names = [
        name
        for name in ("place", "cost", "label")
        if name == "cost" or len({getattr(row, name) for row in rows}) > 1
    ]
    called = {"place": "scenario", "cost": "cost", "label": "revision"}
    return Table(
        title=title,
        header=(
            *(Heading(called[name]) for name in names),
            *(Heading(text, is_left=False) for text in columns.values()),
            *([Heading("ratio", axis=axis)] if axis else []),
        ),
        rows=tuple(
            (
                *(_name(row, name, is_first=name == names[0]) for name in names),
                *(_figure(row, column) for column in columns),
                *([row.dot or ""] if axis else []),
            )
            for row in rows
        ),
        notes=tuple(said),
    )


def _name(row: ForestRow, name: str, *, is_first: bool) -> Cell:
    text = f"{row.mark if is_first else ''} {getattr(row, name)}".lstrip()
    return Word(text=text, colour=row.colour if name == "label" else "")


def _figure(row: ForestRow, column: str) -> Cell:
    text = str(getattr(row, column)) or NOTHING
    if column == "change" and row.dot is not None:
        return Word(text=text, sort=row.dot.ratio.value)
    return text


def _scenario(of: Comparison, record: Record, reasons: Sequence[Why]) -> Section:
    """Everything that is known of one scenario."""
    judged = forest.of_comparisons([of]) if of.rows[1:] else []
    brief = ", ".join(f"{row.mark} {row.cost} {row.change}" for row in judged[:_NAMED])
    return Section(
        title=of.scenario,
        brief=brief if len(judged) <= _NAMED else "",
        logs=_logs(of),
        tables=(
            _means(of, forest.of_scenario(of)),
            *why.tables(of.scenario, reasons),
            _runs(record),
        ),
        flames=why.flames(reasons),
    )


def _logs(of: Comparison) -> tuple[Log, ...]:
    """The end of what was printed by the last failed run of each revision, for each reason."""
    return tuple(
        Log(title=f"The end of the log of {row.label}, {reason}, round {last.round}", text=last.log)
        for row in of.rows
        for reason, failed in row.failures.items()
        if (last := failed[-1]).log and reason not in HARMLESS
    )


def _runs(record: Record) -> Table:
    """Every run, in the order in which they were made."""
    runs = sorted(record.measurements, key=lambda run: (run.round, run.position))
    known = {metric.name: metric for metric in record.metrics}
    shown = [
        known[name]
        for name in (*forest.FIRST, *(metric.name for metric in record.metrics if metric.is_own))
        if name in known and any(known[name].key in run.metrics for run in runs)
    ]
    units = {
        metric.name: unit_for([run.metrics.get(metric.key, 0.0) for run in runs], metric)
        for metric in shown
    }
    return Table(
        title="Every run",
        header=(
            "round",
            "revision",
            *(", ".join(filter(None, (metric.title, units[metric.name][0]))) for metric in shown),
            "marks",
        ),
        rows=tuple(
            (
                f"{run.round}",
                run.label,
                *(_of_run(run, metric, units[metric.name][1]) for metric in shown),
                ", ".join(run.marks) or NOTHING,
            )
            for run in runs
        ),
        names=2,
    )


def _of_run(run: Measurement, metric: Metric, scale: float) -> str:
    if metric.key not in run.metrics:
        return NOTHING
    return format_digits(run.metrics[metric.key] * scale, _DIGITS, zeros=True).replace(",", "")


def compose_history(
    several: Sequence[Contents], trends: Trends, newest: int, lead: Sequence[str]
) -> Page:
    """A page of many comparisons: the history of what they measured relative to one revision.

    ``newest``: only so many revisions are shown of each; 0 for all. ``lead`` says what is not
    shown.
    """
    found = [
        (BY_NAME[name], title, one)
        for name, own in trends.items()
        for title, one in history.titled(own).items()
    ]
    rows = [forest.of_place(one.newest, one.anchor, title, it) for it, title, one in found]
    records = [record for contents in several for record in contents.records]
    begun = sorted(moment(contents.comparison.started_at) for contents in several)
    failures = list(_failures(several))
    tables = []
    if rows:
        labels = dict.fromkeys(row.label for row in rows)
        title = f"{' or '.join(labels)}, the newest, relative to {found[0][2].anchor}"
        tables.append(_forest(title, rows, forest.axis_of(rows), _HISTORY, (_NOTE,)))
    return Page(
        title="What workers cost while they wait: "
        f"{format_count(len(several), 'comparison', 'comparisons')}",
        facts=(
            format_count(len({record.scenario for record in records}), "scenario", "scenarios"),
            begun[0] if begun[0] == begun[-1] else f"{begun[0]} to {begun[-1]}",
        ),
        headlines=_steps(found) or (Headline(text="No change point is claimed.", style=""),),
        failures=tuple(failures[:_MOST_FAILURES]),
        cautions=tuple(lead),
        tables=tuple(tables),
        sections=(
            *(_history(*each, newest) for each in found),
            *([Section(title="What failed", sentences=tuple(failures))] if failures else []),
            Section(title="How it was measured", tables=(_sources(several),)),
        ),
    )


def _steps(found: Sequence[tuple[Metric, str, Trend]]) -> tuple[Headline, ...]:
    """The change points of the cost that is looked at first, those at one revision together."""
    at: dict[tuple[str, bool], list[tuple[str, ChangePoint]]] = {}
    for metric, title, one in found:
        if metric == found[0][0]:
            for step in one.change_points:
                at.setdefault((step.after, step.is_rise), []).append((title, step))
    return tuple(history.change_points(steps, found[0][0]) for steps in at.values())


def _failures(several: Sequence[Contents]) -> Iterator[str]:
    """What failed of each revision in each scenario, with the last words."""
    for contents in several:
        for record in contents.records:
            counts = Counter((one.label, one.reason) for one in record.failures)
            last = {(one.label, one.reason): one.message for one in record.failures}
            for (label, reason), count in counts.items():
                runs = format_count(count, "run", "runs")
                said = f": {last[label, reason].rstrip('.')}" if last[label, reason] else ""
                yield f"{label}, {runs} of {record.scenario}: {reason}{said}"


def _history(metric: Metric, title: str, found: Trend, newest: int) -> Section:
    """A cost of all revisions, with its change points; see ``history.newest_of``."""
    steps = found.change_points
    places = history.newest_of(found, newest)
    at_steps = {step.after for step in steps}
    return Section(
        title=f"{title}: {metric.title}",
        brief=", ".join(history.change_point(step, metric).text for step in steps),
        pictures=(svg.of_trend(places, at_steps, forest.trend_axis(found)),),
        tables=(history.table(found, title, metric, newest),),
    )


def moment(iso: str) -> str:
    """A moment to the minute."""
    return iso[:16].replace("T", " ") + " UTC"


def _sources(several: Sequence[Contents]) -> Table:
    """Which comparisons they are, and how to make them again."""
    return Table(
        title="Comparisons",
        header=tuple(map(Heading, ("folder", "begun", "machine", "command"))),
        rows=tuple(
            (
                contents.folder.resolve().name,
                moment(contents.comparison.started_at),
                machines.name_of(contents.comparison.machine),
                _command(contents),
            )
            for contents in several
        ),
    )


def _command(contents: Contents) -> str:
    return f"{as_called('./waitbench')} {shlex.join(contents.comparison.argv)}".rstrip()


def _source(contents: Contents) -> Section:
    """How one comparison was measured, and where, if that was on several machines."""
    context = contents.comparison
    where = machines.where_measured(contents.records)
    return Section(
        title=f"How it was measured: {contents.folder.resolve().name}",
        tables=(
            Table(
                title="Revisions",
                header=tuple(map(Heading, _REVISIONS)),
                rows=tuple(map(_texts, context.revisions)),
            ),
        ),
        facts=(
            ("command", _command(contents)),
            ("begun", moment(context.started_at)),
            ("topology", context.topology),
            ("engine", context.engine),
            ("hyperfine", context.hyperfine_version),
            *_machine(context.machine),
            *([("waitbench", context.waitbench)] if context.waitbench else []),
            *([("machines", where)] if where is not None else []),
        ),
    )


def _machine(machine: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in machine.items():
        if value is not None:
            title = name.removesuffix("_bytes").replace("_", " ")
            is_size = title != name.replace("_", " ") and isinstance(value, int)
            yield title, format_bytes(value) if is_size else str(value)  # type: ignore[arg-type]


def _texts(revision: RevisionRecord) -> tuple[str, ...]:
    facts = revision.facts
    commit = (revision.commit or "")[:_SHOWN_DIGITS]
    texts = (
        revision.label,
        revision.text,
        revision.origin,
        facts.package_version if facts else "",
        " ".join(filter(None, (commit, (revision.commit_date or "")[:10]))),
        facts.python if facts else "",
        (facts.compiler if facts else None) or "",
        facts.package_sha256[:_SHOWN_DIGITS] if facts else "not built",
    )
    return tuple(text or NOTHING for text in texts)
