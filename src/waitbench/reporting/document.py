"""Reports, tables and bars as data, which consoles, pages, charts and Markdown render."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from waitbench.analysis.results import Note
from waitbench.model.verdicts import Estimate
from waitbench.reporting.drawing import Axis

_T = TypeVar("_T")
_Key = TypeVar("_Key", bound=Hashable)


def grouped(items: Iterable[_T], key: Callable[[_T], _Key]) -> dict[_Key, list[_T]]:
    """Groups items by their keys, in the order in which the keys appear."""
    groups: dict[_Key, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@dataclass(frozen=True, kw_only=True)
class TextCell:
    """A text with a style, a mark, or a key to sort by."""

    text: str
    short: str = ""
    """Replaces the text on a console: the end of a name that begins like the name above."""
    mark: str = ""
    """Stands before the text: a key of ``drawing.MARK_STYLES``."""
    style: str = ""
    """A style of rich, which pages and charts show as well."""
    sort: float | None = None
    """The key by which a page sorts; ``None`` sorts by the text."""
    colour: str = ""


class PlacedDot(NamedTuple):
    """The parts of a dot that lie within an axis, as values of the axis."""

    band: tuple[float, float] | None
    interval: tuple[float, float] | None
    value: float
    beyond: int
    """−1 if the value lies beyond the low end of the axis, 1 beyond the high end, else 0."""


@dataclass(frozen=True)
class Dot:
    """A value as a dot with its interval, on the axis of its column."""

    ratio: Estimate
    band: tuple[float, float] | None
    """The ratios that a margin allows; ``None`` where the value is not a ratio."""
    colour: str = ""
    is_open: bool = False
    """Whether the result is inconclusive, so that the dot is hollow."""
    style: str = ""

    @property
    def sort(self) -> float:
        return self.ratio.value

    def on(self, axis: Axis) -> PlacedDot:
        value, high, clipped = self.ratio.value, self.ratio.high, axis.clipped
        low = value if self.ratio.low is None else self.ratio.low
        return PlacedDot(
            band=(clipped(self.band[0]), clipped(self.band[1])) if self.band else None,
            # An open question may have an upper bound only.
            interval=None if high is None else (clipped(low), clipped(high)),
            value=clipped(value),
            beyond=(value > axis.high) - (value < axis.low),
        )


Cell = str | TextCell | Dot


def text_of(cell: Cell) -> str:
    """The text of a cell with its mark; a dot has no text."""
    if isinstance(cell, TextCell):
        return f"{cell.mark} {cell.text}" if cell.mark else cell.text
    return cell if isinstance(cell, str) else ""


@dataclass(frozen=True)
class Heading:
    """The heading of a column. A ``str`` in its place is the heading of a column of figures."""

    text: str
    is_left: bool = True
    axis: Axis | None = None
    """The axis of a column of dots, which pages and charts draw."""
    is_optional: bool = False
    """Whether a console may leave out the column, so that names fit."""
    group: str = ""
    """A common heading above this and its neighbours of the same group."""


Column = tuple[str | Heading, Sequence[Cell]]


@dataclass(frozen=True)
class Table:
    """Columns of equal length; the first ones name the row."""

    title: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    groups: Sequence[str] = ()
    """The scenario of each row, or empty; a console prints each scenario once, above its rows."""

    @classmethod
    def of_texts(cls, title: str, rows: Sequence[Mapping[str, str]]) -> "Table":
        """A table of rows that map headings to texts; all rows have the same headings."""
        return cls(title, [(Heading(name), [row[name] for row in rows]) for name in rows[0]])

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(
            heading if isinstance(heading, Heading) else Heading(heading, is_left=False)
            for heading, _ in self.columns
        )

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        return tuple(zip(*(cells for _, cells in self.columns), strict=True))

    @property
    def grouped_rows(self) -> dict[str, list[tuple[Cell, ...]]]:
        """The rows of each group; without groups, all below an empty name."""
        groups = iter(self.groups or [""] * len(self.rows))
        return grouped(self.rows, lambda _: next(groups))

    @property
    def as_text(self) -> "Table":
        """The table without its columns of dots, which text cannot show."""
        return self.without([heading for heading in self.headings if heading.axis])

    def without(self, left_out: Collection[Heading]) -> "Table":
        pairs = zip(self.headings, self.columns, strict=True)
        return replace(self, columns=[column for head, column in pairs if head not in left_out])


_LONGEST_BAR = 0.7
"""The share of a column's width that the longest bar takes; the rest is for its value."""


class Bar(NamedTuple):
    """One cost of one revision in one scenario: the mean, the least and the most of all runs."""

    label: str
    mean: float | None
    least: float
    most: float
    text: str = ""


class BarColumn(NamedTuple):
    """A cost with its unit: for each scenario, a bar of each revision."""

    heading: str
    cells: Sequence[Sequence[Bar]]

    @property
    def scale(self) -> float:
        """The width of a bar for a cost of 1, as a share of the column's width."""
        return _LONGEST_BAR / (max(bar.most for cell in self.cells for bar in cell) or 1.0)


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The costs of each revision in each scenario. All bars of a column have one scale."""

    title: str
    note: str
    colours: Mapping[str, str]
    scenarios: Sequence[str]
    columns: Sequence[BarColumn]
    """Empty where nothing was measured."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A folded part of a page: a scenario, a history, how something was measured."""

    title: str
    tables: Sequence[Table] = ()
    logs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The notes, tables and charts that a feature adds to a comparison."""

    notes: Sequence[Note] = ()
    """Changes, which are printed among the headlines."""
    sections: Sequence[Section] = ()
    """Sections of a page, whose tables are printed as well.

    A section whose title is the name of a scenario is a part of that scenario's section."""
    charts: Mapping[str, Table] = field(default_factory=dict)
    """Tables that are drawn, by the names of the files."""
    json: Mapping[str, Any] = field(default_factory=dict)
    explains: tuple[str, str] | None = None
    """An option of ``compare`` that explains a rise, and its purpose."""

    @property
    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.tables]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report for a console or Markdown, or a page."""

    title: str
    facts: Sequence[str] = ()
    notes: Sequence[Note] = ()
    bars: Sequence[Bars] = ()
    tables: Sequence[Table] = ()
    sections: Sequence[Section] = ()
    links: Sequence[tuple[str, str]] = ()
    """Pairs of a title and an option, a command or a folder."""
