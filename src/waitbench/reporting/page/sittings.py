"""One comparison in one scenario -> its tables, sentences and charts."""

from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.model.run import HARMLESS, ThreadSample, Trace
from waitbench.reporting import tables, traces
from waitbench.reporting.cell_table import CellTable
from waitbench.reporting.page import charts, timeline
from waitbench.reporting.page.figures import value_cell
from waitbench.reporting.page.parts import Cell, Heading, Log, Part, Table
from waitbench.reporting.sentences import sentences

_GROUPS = (
    ("The whole run, means", tables.WHOLE_RUN),
    ("While waiting, means", tables.WAITING),
    ("What waiting consists of, means", tables.CONSISTS_OF),
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a folder of results holds of one scenario."""

    record: Record
    comparison: Comparison
    samples: Sequence[ThreadSample] = ()
    traces: Sequence[Trace] = ()

    @classmethod
    def of(
        cls,
        record: Record,
        samples: Sequence[ThreadSample] = (),
        traced: Sequence[Trace] = (),
        *,
        scenarios: int = 1,
    ) -> "Scene":
        """The scene of a record, which is one of so many, with what there is besides."""
        compared = statistics.compare(record, scenarios=scenarios)
        return cls(record=record, comparison=compared, samples=samples, traces=traced)


def sitting(scene: Scene, *, brief: bool = False) -> Part:
    """Everything that is known of it; briefly, without tables and logs.

    A page of many comparisons would be mostly these.
    """
    comparison = scene.comparison
    drawn = (
        *charts.runs(comparison, scene.record),
        charts.parts(comparison),
        timeline.chart(comparison, scene.samples),
    )
    traced = traces.tables(comparison.scenario, scene.traces)
    shown = () if brief else (*_tables(comparison), *map(of_cells, traced))
    return Part(
        title=f"{tables.title(comparison)}, begun {_moment(scene.record.context.started_at)}",
        tables=shown,
        sentences=tuple(sentences(comparison)),
        logs=() if brief else _logs(comparison),
        charts=tuple(one for one in drawn if one is not None),
    )


def of_cells(table: CellTable) -> Table:
    """A table of plain cells, such as a family has."""
    return Table(
        title=table.title,
        header=tuple(map(Heading, table.header)),
        rows=tuple(tuple(Cell(text=text) for text in row) for row in table.rows),
        notes=table.notes,
    )


def _tables(comparison: Comparison) -> list[Table]:
    return [
        Table(
            title=title,
            header=(
                Heading("revision"),
                *(Heading(tables.heading(name, comparison)) for name in names),
            ),
            rows=tuple(
                (
                    Cell(text=row.label),
                    *(
                        value_cell(row.estimates.get(name), BY_NAME[name], row.ratios.get(name))
                        for name in names
                    ),
                )
                for row in comparison.rows
            ),
        )
        for title, group in _GROUPS
        if (names := tables.known(comparison, group))
    ]


def _logs(comparison: Comparison) -> tuple[Log, ...]:
    """The end of what was printed by the last failed run of each revision, for each reason."""
    return tuple(
        Log(title=f"The end of the log of {row.label}, {reason}, round {last.round}", text=last.log)
        for row in comparison.rows
        for reason, last in row.last_failures.items()
        if last.log and reason not in HARMLESS
    )


def _moment(iso: str) -> str:
    """A moment to the minute."""
    return iso[:16].replace("T", " ") + " UTC"
