"""The parts of a page: one comparison in one scenario, one trend, and how it was measured."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.analysis import statistics
from waitbench.analysis.history import Trend
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import HARMLESS
from waitbench.model.why import Why
from waitbench.reporting import comparison, idle, machines, page_charts, why, written
from waitbench.reporting.costs import AS_IT_IS, Units
from waitbench.reporting.document import Log, Part, Ratio, Source, Table, Word
from waitbench.reporting.formats import NOTHING, format_bytes
from waitbench.reporting.history import newest_of, notes, step_text
from waitbench.system.installation import as_called

_GROUPS = (
    ("The whole run, means", comparison.WHOLE_RUN),
    ("While waiting, means", comparison.WAITING),
    ("What waiting consists of, means", comparison.CONSISTS_OF),
)
_TREND = ("revision", "date", "ratio", "sessions", "change")
_REVISIONS = (
    "revision", "asked for", "origin", "version", "commit", "Python", "compiler", "package",
)  # fmt: skip
_SHOWN_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a folder of results holds of one scenario."""

    record: Record
    comparison: Comparison
    reasons: Sequence[Why] = ()

    @classmethod
    def of(
        cls,
        record: Record,
        reasons: Sequence[Why] = (),
        *,
        scenarios: int = 1,
    ) -> "Scene":
        """The scene of a record, which is one of so many, with what there is besides."""
        compared = statistics.compare(record, scenarios=scenarios)
        return cls(record=record, comparison=compared, reasons=reasons)


def sitting(scene: Scene, units: Units = AS_IT_IS, *, brief: bool = False) -> Part:
    """Everything that is known of it; briefly, without tables and logs.

    A page of many comparisons would be mostly these.
    """
    shown = scene.comparison
    drawn = (*page_charts.runs(shown, scene.record), page_charts.parts(shown))
    begun = moment(scene.record.context.started_at)
    return Part(
        title=f"{comparison.title(shown)}, begun {begun}",
        tables=() if brief else tuple(_tables(scene, units)),
        sentences=tuple(comparison.sentences(shown)),
        logs=() if brief else _logs(shown),
        charts=tuple(one for one in drawn if one is not None),
        flames=() if brief else why.flames(scene.reasons),
    )


def _tables(scene: Scene, units: Units) -> Iterator[Table]:
    shown = scene.comparison
    for title, group in _GROUPS:
        names = comparison.known(shown, group)
        if names:
            yield comparison.table(shown, names, title)
    yield from idle.tables([shown], units.price)
    yield from written.tables([shown])
    yield from why.tables(shown.scenario, scene.reasons)


def _logs(shown: Comparison) -> tuple[Log, ...]:
    """The end of what was printed by the last failed run of each revision, for each reason."""
    return tuple(
        Log(title=f"The end of the log of {row.label}, {reason}, round {last.round}", text=last.log)
        for row in shown.rows
        for reason, last in row.last_failures.items()
        if last.log and reason not in HARMLESS
    )


def moment(iso: str) -> str:
    """A moment to the minute."""
    return iso[:16].replace("T", " ") + " UTC"


def along_history(found: Trend, metric: Metric, newest: int) -> Part:
    """A cost of all revisions, with its steps; see ``newest_of``."""
    return Part(
        title=f"{metric.heading}, through history",
        tables=(_trend_table(found, metric, newest),),
        charts=(page_charts.trend(found, metric, newest),),
    )


def _trend_table(found: Trend, metric: Metric, newest: int) -> Table:
    """The revisions in order of history, and a sentence for each step; see ``newest_of``."""
    steps = {step.after: step for step in found.change_points}
    return Table(
        title=f"{metric.heading}, relative to {found.anchor}",
        header=_TREND,
        rows=tuple(
            (
                Word(text=place.entry.name, sort=number),
                (place.entry.date or "")[:10],
                Ratio(place.ratio),
                Word(text=str(place.ratio.count), sort=place.ratio.count),
                step_text(steps.get(place.entry.name)),
            )
            for number, place in enumerate(newest_of(found, newest))
        ),
        notes=tuple(notes(found, metric)),
    )


def source(folder: Path, context: Context, records: Iterable[Record] = ()) -> Source:
    """How one comparison was measured, and where, if that was on several machines."""
    where = machines.where_measured(records)
    return Source(
        title=f"{folder.resolve().name}, begun {moment(context.started_at)}",
        facts=(*_facts(context), *([] if where is None else [("machines", where)])),
        revisions=Table(
            title="Revisions",
            header=_REVISIONS,
            rows=tuple(map(_texts, context.revisions)),
        ),
        command=f"{as_called('./waitbench')} {shlex.join(context.argv)}".rstrip(),
    )


def _facts(context: Context) -> Iterator[tuple[str, str]]:
    yield "topology", context.topology
    yield "engine", ", ".join(context.engines)
    yield "hyperfine", context.hyperfine_version
    for name, value in context.machine.items():
        if value is None:
            continue
        title = name.removesuffix("_bytes").replace("_", " ")
        if name.endswith("_bytes") and isinstance(value, int):
            yield title, format_bytes(value)
        else:
            yield title, str(value)
    if context.waitbench is not None:
        yield "waitbench", context.waitbench


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
