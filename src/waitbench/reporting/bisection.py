"""The result of a search for a change -> an answer, progress lines, plain data."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.bisection import Change, End, Grain, Search, Step
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.results import Note
from waitbench.analysis.rule import ALPHA
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.document import Answer, Command, Heading, Table
from waitbench.reporting.formats import format_change, format_range
from waitbench.reporting.notes import OUTCOME
from waitbench.reporting.summary import HARMLESS, HOLDS, MARKS
from waitbench.system.installation import called

_SHOWN_DIGITS = 10
_LEVELS = {End.FOUND: HOLDS, End.NO_CHANGE: MARKS[Verdict.WITHIN_MARGIN]}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A whole search so far: among releases, then among the commits of one, and the request."""

    criterion: Criterion
    faster: bool
    """Whether the change that is looked for is a fall."""
    scenarios: tuple[str, ...]
    searches: tuple[Search, ...]
    """At least one."""
    options: tuple[str, ...]
    """Those that ``compare`` takes too, to measure the same again."""
    remarks: tuple[str, ...] = ()

    @property
    def proven(self) -> tuple[Search, ...]:
        """The searches that named a culprit, or a range."""
        return tuple(one for one in self.searches if one.end in (End.FOUND, End.RANGE))

    @property
    def main(self) -> Search:
        """The last search that proved something; else the first."""
        return (self.proven or self.searches[:1])[-1]


def answer(searched: Searched) -> Answer:
    """What was found, the culprit, every step, and how to repeat it."""
    good, *_, bad = searched.searches[0].labels
    level = _LEVELS.get(searched.main.end, "?")
    others = [one for one in searched.searches if one is not searched.main]
    said = [("finding", finding(searched, one)) for one in others]
    said += [("missing", text) for text in _missing(searched)]
    said += [("remark", text) for text in searched.remarks]
    for commit in (search.culprit for search in searched.proven):
        if commit is not None:
            text = f"{commit.commit[:_SHOWN_DIGITS]} {commit.subject}"
            said.append(("culprit", f"{text} ({commit.author}, {commit.date})"))
    if searched.proven:
        chance = f"the chance that what is named here is wrong is {ALPHA:.0%} at most"
        said.append(("error", f"{chance}, over all steps together"))
    return Answer(
        title=f"{searched.criterion.metric.title} between {good} and {bad}",
        basis="",
        notes=(
            Note(kind=OUTCOME, level=level, text=finding(searched, searched.main)),
            *(Note(kind=kind, level=HARMLESS, text=text) for kind, text in said),
        ),
        table=_steps(searched),
        links=tuple(("Again", Command(text)) for text in to_repeat(searched)),
    )


def _steps(searched: Searched) -> Table:
    return Table(
        title="",
        header=(*map(Heading, ("step", "from → to", "change", "bounds")), "rounds"),
        rows=tuple(
            (
                f"{number}.{at}",
                " → ".join(search.labelled((change.good, change.bad))),
                f"{_mark(change)} {format_change(change.ratio)}",
                format_range(change.ratio),
                str(change.ratio.count),
            )
            for number, search in enumerate(searched.searches, 1)
            for at, step in enumerate(search.steps, 1)
            for change in step.changes
        ),
        names=2,
    )


def _mark(change: Change) -> str:
    if change.beyond:
        return MARKS[Verdict.SLOWER if change.ratio.value > 1 else Verdict.FASTER]
    return MARKS[Verdict.WITHIN_MARGIN if change.within else Verdict.INCONCLUSIVE]


def finding(searched: Searched, search: Search) -> str:
    """What one of its searches came to, in one line."""
    what, (good, bad) = searched.criterion.metric.title, search.suspected
    last = search.steps[-1] if search.steps else None
    if search.end is End.FOUND and search.proof:
        return f"FOUND: {what} {_ratios([search.proof])} with {bad}, relative to {good}"
    if search.end is End.RANGE and search.proof:
        ratio = _ratios([search.proof])
        return f"RANGE: {what} {ratio} after {good}, up to {bad}: nothing between can be measured"
    if search.end is End.NO_CHANGE and last:
        built = ", built here" if search.grain is Grain.COMMITS else ""
        ratios = _ratios(last.changes) or "the same package"
        return f"NO CHANGE PROVEN: {what} from {good} to {bad}{built}: {ratios}"
    return f"OPEN: {what} from {good} to {bad}: {_why_open(searched, last)}"


def _why_open(searched: Searched, last: Step | None) -> str:
    if last is None:
        return "nothing was measured"
    if last.left:
        return "not searched to the end"
    if last.left is not None:
        return f"no single step is certainly beyond {searched.criterion.margin:.0%}"
    why = "; other programs used the machine in most rounds" if last.is_disturbed else ""
    return (
        f"inconclusive after {last.rounds} rounds, {_ratios(last.changes)}{why}. More rounds "
        "(--rounds) or longer runs (--full) may tell"
    )


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

    commands = [
        f"{called('compare')} {shlex.join((*search.suspected, *options))}"
        for search in searched.proven
    ]
    merge = searched.main.culprit
    if merge is not None and len(merge.parents) > 1:
        parents = [parent[:_SHOWN_DIGITS] for parent in merge.parents[:2]]
        find = ("--find", "faster") if searched.faster else ()
        commands.append(f"{called('bisect')} {shlex.join((*parents, *find, *options))}")
    return commands


def _ratios(changes: Iterable[Change]) -> str:
    said = ((format_change(one.ratio), format_range(one.ratio)) for one in changes)
    return ", then ".join(f"{change} ({bounds or 'no bounds yet'})" for change, bounds in said)


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
        """A step is over."""
        said = _ratios(step.changes) or "the same package"
        self._say(f"{'inconclusive: ' * (step.left is None)}{said}, {step.rounds} rounds", "")

    def _say(self, text: str, style: str) -> None:
        if not self.quiet:
            self.console.print(Text(text, style=style), soft_wrap=True)


def plain(searched: Searched) -> dict[str, Any]:
    """Everything that a program may want to know."""
    first = searched.searches[0]
    return {
        "good": first.labels[0],
        "bad": first.labels[-1],
        "criterion": str(searched.criterion),
        "find": "faster" if searched.faster else "slower",
        "scenarios": list(searched.scenarios),
        "end": searched.main.end.value,
        "headline": finding(searched, searched.main),
        "remarks": list(searched.remarks),
        "repeat": to_repeat(searched),
        "stages": [
            {**asdict(search), "end": search.end.value, "suspects": list(search.suspected)}
            for search in searched.searches
        ],
    }
