"""What a page shows, as data: every figure is a text by now, and says how it sorts and looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One figure or name in a table."""

    text: str
    sort: float | None = None
    """What a column is sorted by; ``None`` sorts by the text."""
    tone: str = ""
    """How it is coloured: see ``figures.tone``."""
    more: str = ""
    """What stands smaller below it, such as an interval."""


@dataclass(frozen=True)
class Heading:
    """What stands above a column."""

    text: str
    more: str = ""
    """What stands smaller below it."""
    target: str | None = None
    """The section that it leads to, if any."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of cells; the first of each names it."""

    title: str
    header: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture that the page draws when it is looked at."""

    title: str
    description: str
    """What somebody is told who cannot see it."""
    spec: Mapping[str, Any]
    """A Vega-Lite specification without data."""
    rows: Sequence[Mapping[str, Any]]
    """The data: flat objects, all with the same keys."""
    wide: bool = False
    """Whether a narrow screen should scroll it rather than squeeze it."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """What a run printed before it failed."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is folded up under one heading, such as one comparison in one scenario."""

    title: str
    sentences: tuple[str, ...] = ()
    logs: tuple[Log, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that is known of one scenario as it was measured."""

    id: str
    """What a link to it ends in."""
    title: str
    parts: tuple[Part, ...]
    """The first is not folded up."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """How one comparison was measured, and how to measure it again."""

    title: str
    facts: tuple[tuple[str, str], ...]
    revisions: Table
    command: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole page."""

    title: str
    lead: tuple[str, ...]
    """The sentences that somebody reads who reads no more."""
    verdicts: tuple[tuple[str, bool], ...]
    """The headline of each gate, and whether it passed."""
    matrices: tuple[Table, ...]
    """Revisions by scenarios, one for each cost."""
    sections: tuple[Section, ...]
    sources: tuple[Source, ...]
