"""Formats a bisection as a report, lines of progress and JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from waitbench.analysis.criteria import Criterion
from waitbench.analysis.results import Note
from waitbench.analysis.rule import ALPHA
from waitbench.features.bisect.search import COMMITS, Change, End, Search, Step
from waitbench.model.revision import SHOWN_DIGITS
from waitbench.model.verdicts import Verdict
from waitbench.reporting.document import Column, Heading, Report, Table
from waitbench.reporting.drawing import HOLDS, MARKS, NOT_COMPARED
from waitbench.reporting.formats import format_change, format_range
from waitbench.reporting.notes import OUTCOME

_LEVELS = {End.CULPRIT: HOLDS, End.NO_CHANGE: MARKS[Verdict.WITHIN_MARGIN]}


@dataclass(kw_only=True)
class Bisection:
    """A request and its searches so far: among releases, then among the commits of one release."""

    criterion: Criterion
    faster: bool
    scenarios: tuple[str, ...]
    searches: list[Search] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def proven(self) -> tuple[Search, ...]:
        """The searches that named a culprit, or a range."""
        return tuple(search for search in self.searches if search.is_proven)

    @property
    def decisive(self) -> Search:
        """The search of the headline: the last one that proved a change, else the first."""
        return (*self.searches[:1], *self.proven)[-1]


def summarize(bisection: Bisection) -> Report:
    """A report with the result of each search, the culprit, and a table of all steps."""
    good, *_, bad = bisection.searches[0].points
    return Report(
        title=f"{bisection.criterion.metric.title} between {good.label} and {bad.label}",
        notes=tuple(_notes(bisection)),
        tables=(_steps(bisection),),
    )


def _notes(bisection: Bisection) -> Iterator[Note]:
    decisive = bisection.decisive
    yield Note(
        kind=OUTCOME, level=_LEVELS.get(decisive.end, "?"), text=result_of(bisection, decisive)
    )
    for search in bisection.searches:
        if search is not decisive:
            yield _note("finding", result_of(bisection, search))
        for point, why in sorted(search.missing.items()):
            yield _note("missing", missing(search.points[point].label, why))
    for remark in bisection.remarks:
        yield _note("remark", remark)
    for commit in (search.culprit for search in bisection.proven if search.culprit):
        digits, *parents = (it[:SHOWN_DIGITS] for it in (commit.commit, *commit.parents))
        merge = f"; a merge: to search inside it, bisect {' '.join(parents)}" * bool(parents[1:])
        text = f"{digits} {commit.subject} ({commit.author}, {commit.date}){merge}"
        yield _note("culprit", text)
    if bisection.proven:
        chance = f"{ALPHA * 100:g} % at most, over all steps together"
        yield _note("error", f"the chance of a wrong answer is {chance}")


def _note(kind: str, text: str) -> Note:
    return Note(kind=kind, level=NOT_COMPARED, text=text)


def _steps(bisection: Bisection) -> Table:
    steps = [
        (f"{number}.{at}", search.labels_of((change.good, change.bad)), change)
        for number, search in enumerate(bisection.searches, 1)
        for at, step in enumerate(search.steps, 1)
        for change in step.changes
    ]
    changes = [change for *_, change in steps]
    columns: list[Column] = [
        (Heading("step"), [step for step, *_ in steps]),
        (Heading("from → to"), [" → ".join(labels) for _, labels, _ in steps]),
        (
            Heading("change"),
            [f"{MARKS[it.verdict]} {format_change(it.ratio.value)}" for it in changes],
        ),
        (Heading("bounds"), [format_range(it.ratio) for it in changes]),
        ("rounds", [str(it.ratio.count) for it in changes]),
    ]
    return Table("", columns)


def result_of(bisection: Bisection, search: Search) -> str:
    cost, (good, bad) = bisection.criterion.metric.title, search.labels_of(search.suspects)
    last = search.steps[-1] if search.steps else None
    proven = _ratios([search.proof] if search.proof else [])
    if search.end is End.CULPRIT:
        return f"FOUND: {cost} {proven} with {bad}, relative to {good}"
    if search.end is End.RANGE:
        return f"RANGE: {cost} {proven} after {good}, up to {bad}: nothing between can be measured"
    if search.end is End.NO_CHANGE and last:
        built = ", built here" if search.kind == COMMITS else ""
        return f"NO CHANGE PROVEN: {cost} from {good} to {bad}{built}: {_ratios(last.changes)}"
    why = "nothing was measured"
    if last is not None and last.suspects is None:
        busy = "; other programs used the machine in most rounds" if last.is_disturbed else ""
        why = (
            f"inconclusive after {last.rounds} rounds, {_ratios(last.changes)}{busy}. More rounds "
            "(--rounds) or longer runs may help"
        )
    elif last is not None:
        certain = f"no single step certainly exceeds {bisection.criterion.margin * 100:g} %"
        why = "not searched to the end" if last.suspects else certain
    return f"OPEN: {cost} from {good} to {bad}: {why}"


def _ratios(changes: Iterable[Change]) -> str:
    return ", then ".join(
        f"{format_change(change.ratio.value)} ({format_range(change.ratio) or 'no bounds yet'})"
        for change in changes
    )


def line_before(search: Search, points: Sequence[int]) -> str:
    """The line of progress before a step."""
    good, bad = search.suspects
    left = sum(1 for point in range(good, bad + 1) if point not in search.missing)
    shown = " … ".join(search.labels_of(points))
    return f"step {len(search.steps) + 1}, {left} {search.kind} left: {shown}"


def missing(label: str, why: str) -> str:
    return f"{label} cannot be measured: {why}"


def line_after(step: Step) -> str:
    """The line of progress after a step."""
    prefix = "inconclusive: " if step.suspects is None else ""
    ratios = f"{_ratios(step.changes)}, {step.rounds} rounds"
    return f"{prefix}{ratios if step.changes else 'too few rounds'}"


def as_json(bisection: Bisection) -> dict[str, Any]:
    first = bisection.searches[0]
    return {
        "good": first.points[0].label,
        "bad": first.points[-1].label,
        "criterion": str(bisection.criterion),
        "find": "faster" if bisection.faster else "slower",
        "scenarios": list(bisection.scenarios),
        "end": bisection.decisive.end.value,
        "headline": result_of(bisection, bisection.decisive),
        "remarks": bisection.remarks,
        "stages": [
            {
                **asdict(search),
                "grain": search.kind,
                "end": search.end.value,
                "suspects": list(search.labels_of(search.suspects)),
            }
            for search in bisection.searches
        ],
    }
