"""What reports and pages say, as data. Builders make it of answers, renderers show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from waitbench.analysis.results import Note
from waitbench.model.estimate import Estimate
from waitbench.reporting.drawing import Axis


@dataclass(frozen=True, kw_only=True)
class Word:
    """A cell with a text that looks or sorts in a way of its own."""

    text: str
    short: str = ""
    """The same below the row that it continues, where there is little room."""
    mark: str = ""
    """What stands before it: one of ``summary.MARK_STYLES``."""
    style: str = ""
    """How it looks, as rich names it: a console, a page and a chart show the same."""
    sort: float | None = None
    """What a column of a page is sorted by; ``None`` sorts by the text."""
    colour: str = ""
    """Of the revision that it names, on a page."""


@dataclass(frozen=True)
class Dot:
    """A cell with a value as a dot and its interval, on the axis of its column."""

    ratio: Estimate
    band: tuple[float, float] | None
    """The ratios that a margin allows; ``None`` of what is no ratio."""
    colour: str = ""
    """That of its revision, where it has no style."""
    is_open: bool = False
    """Whether nothing certain is known: the dot is hollow."""
    style: str = ""
    """As that of a ``Word``: whether it is less or more."""
    text: str = ""
    """The same on a console."""

    @property
    def sort(self) -> float:
        """What a column of a page is sorted by."""
        return self.ratio.value


Cell = str | Word | Dot


def text_of(cell: Cell) -> str:
    """A cell's text, behind its mark."""
    if isinstance(cell, Word) and cell.mark:
        return f"{cell.mark} {cell.text}"
    return cell if isinstance(cell, str) else cell.text


@dataclass(frozen=True)
class Heading:
    """What stands above a column; one that is only a text is above figures."""

    text: str
    is_left: bool = True
    """Whether the column is aligned to the left, as names are."""
    axis: Axis | None = None
    """Of a column of dots: on a page, and on a console where it has a width there."""
    gives_way: int = 0
    """Where names do not fit beside it, a console leaves out columns of 1, and then of 2."""
    group: str = ""
    """Stands above this heading and its neighbours of the same group, whose columns are close."""


Column = tuple[str | Heading, Sequence[Cell]]
"""A heading, and a cell for each row."""


@dataclass(frozen=True)
class Table:
    """Columns with as many cells, the first of which name the row."""

    title: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    """Sentences that stand below it."""
    groups: Sequence[str] = ()
    """The scenario of each row, if there are several: a console says it once, above them."""

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(
            one if isinstance(one, Heading) else Heading(one, is_left=False)
            for one, _ in self.columns
        )

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        return tuple(zip(*(cells for _, cells in self.columns), strict=True))

    def without(self, is_left_out: Callable[[Heading], bool]) -> "Table":
        """The same without some columns."""
        known = zip(self.headings, self.columns, strict=True)
        return replace(self, columns=[one for heading, one in known if not is_left_out(heading)])


class Bar(NamedTuple):
    """One cost of one revision in one scenario."""

    label: str
    mean: float | None
    least: float
    most: float
    """Of all runs."""
    text: str = ""
    """The mean in the unit of its column, or that nothing was measured."""


class BarRow(NamedTuple):
    """A scenario: a cell for each cost, with a bar for each revision."""

    family: str
    name: str
    cells: Sequence[Sequence[Bar]]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What each revision costs in each scenario. All bars of a column have one scale."""

    title: str
    note: str
    colours: Mapping[str, str]
    """By the label of the revision."""
    headings: Sequence[str]
    """Costs with their units; none where nothing was measured."""
    rows: Sequence[BarRow]

    @property
    def reaches(self) -> list[float]:
        """The greatest value of each column."""
        columns = zip(*(row.cells for row in self.rows), strict=True)
        return [max(bar.most for cell in cells for bar in cell) for cells in columns]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a comparison comes to: what its report ends with."""

    title: str
    """What was compared with what."""
    basis: str = ""
    """What that rests on."""
    notes: Sequence[Note] = ()
    tables: Sequence[Table] = ()
    """A row for each scenario, or for each question of a gate."""
    links: Sequence[tuple[str, str]] = ()
    """What is best done now, and where there is more: a word, and a command or a place."""


class FlameBox(NamedTuple):
    """A function within its callers, or the thread or process that they belong to."""

    depth: int
    left: float
    width: float
    """Where it is drawn, as a share of the graph."""
    tone: str
    """``less`` or ``more`` than the baseline, or ``same``."""
    name: str
    said: str
    """Its figures."""


Flame = tuple[str, Sequence[FlameBox]]
"""A flame graph with its title, callers above: of two revisions, with what differs."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """What a page folds up: a scenario, a history, how something was measured."""

    title: str
    tables: Sequence[Table] = ()
    logs: Sequence[tuple[str, str]] = ()
    """The ends of logs, each with its title."""
    flames: Sequence[Flame] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole page."""

    title: str
    facts: Sequence[str]
    """What was measured, and when."""
    notes: Sequence[Note]
    tables: Sequence[Table]
    sections: Sequence[Section]
    bars: Bars | None = None
