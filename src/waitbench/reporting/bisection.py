"""The result of a search for a change -> a document, progress lines, plain data."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.bisection import (
    MOST,
    Change,
    End,
    Grain,
    Search,
    Step,
    StepVerdict,
)
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.rule import ALPHA
from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.document import Command, Document, Dot, Heading, Quote, Sentences, Table
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.formats import format_change, format_range
from waitbench.reporting.summary import MARKS
from waitbench.system.installation import called

_SHOWN_DIGITS = 10
_STYLES = {End.FOUND: "green bold", End.RANGE: "yellow bold", End.NO_CHANGE: "bold"}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A whole search so far: among releases, then among the commits of one, and the request."""

    criterion: Criterion
    faster: bool
    """Whether the change that is looked for is a fall."""
    scenarios: tuple[str, ...]
    searches: tuple[Search, ...]
    """At least one."""
    prefix: str
    """What stands before a revision of this engine, where it is not the default one."""
    options: tuple[str, ...]
    """Those that ``compare`` takes too, to measure the same again."""
    remarks: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[str, str]:
        """The labels of the good and the bad end."""
        return self.searches[0].labels[0], self.searches[0].labels[-1]

    @property
    def end(self) -> End:
        """That of the last search that proved something; else that of the first."""
        return (self.proven or self.searches[:1])[-1].end

    @property
    def proven(self) -> tuple[Search, ...]:
        """The searches that named a culprit, or a range."""
        return tuple(one for one in self.searches if one.end in (End.FOUND, End.RANGE))


def document(searched: Searched) -> Document:
    """The headline, the findings, the culprit, every step, and how to repeat it."""
    steps = _steps(searched)
    return Document(
        headline=headline(searched),
        style=_STYLES.get(searched.end, "yellow bold"),
        blocks=(
            Sentences([*findings(searched), *_missing(searched), *searched.remarks]),
            *(
                Quote(
                    [
                        f"{commit.commit[:_SHOWN_DIGITS]} {commit.subject}",
                        f"{commit.author}, {commit.date}",
                    ]
                )
                for commit in (search.culprit for search in searched.proven)
                if commit is not None
            ),
            *([steps] if steps.rows else []),
            *map(Command, to_repeat(searched)),
        ),
        explanation=f"The chance that what is named here is wrong is {ALPHA:.0%} at most, over all "
        "steps together.",
    )


def rows(searched: Searched) -> list[ForestRow]:
    """A row for each half of each step that was measured, for a table and a chart."""
    return [
        ForestRow(
            place=f"{number}.{at}",
            cost=searched.criterion.metric.title,
            label=f"{search.labels[change.good]} → {search.labels[change.bad]}",
            mark=_mark(change),
            change=format_change(ratio),
            interval=_bounds(ratio),
            dot=Dot(ratio, (1.0, 1 + search.margin), is_open=not (change.within or change.beyond)),
        )
        for number, search in enumerate(searched.searches, 1)
        for at, step in enumerate(search.steps, 1)
        for change in step.changes
        for ratio in [_ratio(change, step.rounds)]
    ]


def _steps(searched: Searched) -> Table:
    answers = {
        f"{number}.{at}": (step.verdict.value, str(step.rounds))
        for number, search in enumerate(searched.searches, 1)
        for at, step in enumerate(search.steps, 1)
    }
    return Table(
        title="",
        header=(*map(Heading, ("step", "from → to", "change", "bounds", "verdict")), "rounds"),
        rows=tuple(
            (row.place, row.label, f"{row.mark} {row.change}", row.interval, *answers[row.place])
            for row in rows(searched)
        ),
        names=2,
    )


def _mark(change: Change) -> str:
    if change.beyond:
        return MARKS[Verdict.SLOWER if change.ratio > 1 else Verdict.FASTER]
    return MARKS[Verdict.WITHIN_MARGIN if change.within else Verdict.INCONCLUSIVE]


def _ratio(change: Change, rounds: int) -> Estimate:
    """A change with its bounds, as far as so few rounds have some."""
    low = change.low or None
    return Estimate(change.ratio, low, change.high if change.high < MOST else None, rounds)


def _bounds(ratio: Estimate) -> str:
    return format_range(ratio) or "no bounds yet"


def headline(searched: Searched) -> str:
    """The result, in one line."""
    what, good, bad = searched.criterion.metric.title, *searched.ends
    changed = "fell" if searched.faster else "rose"
    if searched.end is End.NO_CHANGE:
        fallen = "fallen" if searched.faster else "risen"
        return f"NO CHANGE PROVEN: {what} has not {fallen} for certain between {good} and {bad}"
    if searched.end is End.OPEN:
        return f"OPEN: where {what} {changed} between {good} and {bad} is not certain"
    names = [search.suspected[1] for search in searched.proven]
    if searched.end is End.RANGE:
        good, bad = searched.proven[-1].suspected
        return f"RANGE: {what} {changed} after {good}, up to {bad}"
    return f"FOUND: {what} {changed} with {', in it '.join(names)}"


def findings(searched: Searched) -> list[str]:
    """A sentence for each search."""
    return [_finding(searched, search) for search in searched.searches]


def _finding(searched: Searched, search: Search) -> str:
    metric = searched.criterion.metric
    good, bad = search.suspected
    if search.proof and search.end is not End.OPEN:
        ratio = _ratio(search.proof, search.steps[-1].rounds)
        change = f"{metric.title} {format_change(ratio)} ({_bounds(ratio)}) relative to {good}"
        if search.end is End.FOUND:
            return f"{bad}: {change}."
        return f"Up to {bad}: {change}. What lies between cannot be measured."
    if not search.steps:
        return f"From {good} to {bad}: nothing was measured."
    last = search.steps[-1]
    if search.end is End.NO_CHANGE:
        built = "" if search.grain is Grain.RELEASES else ", built here,"
        if not last.changes:
            return f"{good} and {bad}{built} are the same package."
        return f"{good} and {bad}{built} do not differ for certain: {_ratios(last)}."
    return f"From {good} to {bad}: {_open(searched, last)}."


def _open(searched: Searched, last: Step) -> str:
    what = searched.criterion.metric.title
    changed = "fell" if searched.faster else "rose"
    if last.verdict is StepVerdict.WITHIN:
        margin = f"{searched.criterion.margin:.0%}"
        return f"{what} {changed}, but no single step of it is certainly beyond {margin}"
    if last.verdict is StepVerdict.INCONCLUSIVE:
        why = "; other programs used the machine in most rounds" if last.is_disturbed else ""
        return (
            f"inconclusive after {last.rounds} rounds, {_ratios(last)}{why}. More rounds "
            "(--rounds) or longer runs (--full) may tell"
        )
    return "not searched to the end"


def _missing(searched: Searched) -> list[str]:
    return [
        f"{search.labels[point]} cannot be measured: {why}"
        for search in searched.searches
        for point, why in sorted(search.missing.items())
    ]


def to_repeat(searched: Searched) -> list[str]:
    """The commands that measure what was named beside what was before it, and search a merge."""
    # A file of the user's own has one scenario, which has no name on the command line.
    is_own = {"--worker", "--dataflow"}.intersection(searched.options)
    scenarios = () if is_own else [word for name in searched.scenarios for word in ("-s", name)]
    options = (*scenarios, "--fail-on", str(searched.criterion), *searched.options)
    commands = []
    for search in searched.proven:
        ends = [f"{searched.prefix}{label}" for label in search.suspected]
        commands.append(f"{called('compare')} {shlex.join((*ends, *options))}")
    merge = searched.proven[-1].culprit if searched.proven else None
    if merge is not None and len(merge.parents) > 1:
        ends = [f"{searched.prefix}{one[:_SHOWN_DIGITS]}" for one in merge.parents[:2]]
        find = ("--find", "faster") if searched.faster else ()
        commands.append(f"{called('bisect')} {shlex.join((*ends, *find, *options))}")
    return commands


def _ratios(step: Step) -> str:
    found = (_ratio(change, step.rounds) for change in step.changes)
    return ", then ".join(f"{format_change(one)} ({_bounds(one)})" for one in found)


@dataclass(frozen=True)
class Steps:
    """Reports how far a search is."""

    console: Console
    quiet: bool

    def begin(self, search: Search, points: Sequence[int]) -> None:
        """A step is about to be measured."""
        good, bad = search.suspects
        left = sum(1 for point in range(good, bad + 1) if point not in search.missing)
        shown = " … ".join(search.labelled(points))
        number = len(search.steps) + 1
        self._say(f"step {number}, {left} {search.grain.value} left: {shown}", "bold")

    def missing(self, label: str, why: str) -> None:
        """A point cannot be measured; another one takes its place."""
        self._say(f"{label} cannot be measured: {why}", "yellow")

    def end(self, step: Step) -> None:
        """A step has its verdict."""
        self._say(f"{step.verdict.value}: {_ratios(step)}, {step.rounds} rounds", "")

    def _say(self, text: str, style: str) -> None:
        if not self.quiet:
            self.console.print(Text(text, style=style), soft_wrap=True)


def plain(searched: Searched) -> dict[str, Any]:
    """Everything that a program may want to know."""
    good, bad = searched.ends
    return {
        "good": good,
        "bad": bad,
        "criterion": str(searched.criterion),
        "find": "faster" if searched.faster else "slower",
        "scenarios": list(searched.scenarios),
        "end": searched.end.value,
        "headline": headline(searched),
        "findings": findings(searched),
        "remarks": list(searched.remarks),
        "repeat": to_repeat(searched),
        "stages": [_plain_search(search) for search in searched.searches],
    }


def _plain_search(search: Search) -> dict[str, Any]:
    return {
        "grain": search.grain.value,
        "end": search.end.value,
        "suspects": list(search.suspected),
        "points": [
            {
                "label": label,
                "release": None if point.commit else point.source.identity,
                "commit": asdict(point.commit) if point.commit else None,
                "missing": search.missing.get(number),
            }
            for number, (label, point) in enumerate(zip(search.labels, search.points, strict=True))
        ],
        "steps": [
            {
                "points": list(search.labelled(step.points)),
                "verdict": step.verdict.value,
                "rounds": step.rounds,
                "changes": [asdict(change) for change in step.changes],
            }
            for step in search.steps
        ],
    }
