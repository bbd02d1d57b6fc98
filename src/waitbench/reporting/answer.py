"""Comparisons and a verdict -> what they come to, and how a report of it begins and ends."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from waitbench.analysis import results as of_analysis
from waitbench.analysis.gate import GateVerdict, failed_runs
from waitbench.analysis.results import MetricResult, Note
from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.reporting import forest, notes, scan
from waitbench.reporting.document import Answer, Command, Heading, Table
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.formats import NOTHING, format_count
from waitbench.system.installation import called

COLUMNS = {"change": "change", "interval": "95 %"}
GATE_COLUMNS = {"change": "change", "interval": "certainly", "allowed": "allowed"}
_NAMED = 2
"""So many candidates are named in the title."""
_SHORT = 10
"""Labels up to this head a column of figures."""
_MORE_ROUNDS = 2
"""By how much more rounds are proposed where those that were made did not tell enough."""
_NOT_AGAIN = ("--results", "--rounds", "--shard")
"""Options with a value that the next command does not have, or has another one of."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that a comparison comes to. Every view is made of this."""

    labels: tuple[str, ...] = ()
    """The baseline first."""
    basis: str = ""
    """How many processes and rounds it rests on."""
    results: Sequence[MetricResult] = ()
    judgements: Sequence[MetricResult] | None = None
    """What a gate asked; ``None`` without one."""
    notes: Sequence[Note] = ()

    @property
    def shown(self) -> tuple[Note, ...]:
        """What no table says already, each text once."""
        said = (one for one in self.notes if one.kind not in (notes.FAILS, notes.OPEN))
        return tuple({one.text: one for one in said}.values())

    def of_scenario(self, name: str) -> list[MetricResult]:
        """The results of one scenario."""
        return [one for one in self.results if one.scenario == name]

    @property
    def title(self) -> str:
        """What was compared with what."""
        baseline, *others = self.labels or ("",)
        if not others:
            return baseline
        who = " and ".join(others) if len(others) <= _NAMED else f"{len(others)} revisions"
        places = {one.scenario for one in self.results}
        where = f" in {places.pop()}" if len(places) == 1 and others[1:] else ""
        return f"{who} against {baseline}{where}"

    @property
    def sides(self) -> Mapping[str, str]:
        """What heads the figures of both sides."""
        baseline, *others = self.labels or ("",)
        if not others:
            return {"after": baseline}
        return {
            "before": baseline if len(baseline) <= _SHORT else "baseline",
            "after": others[0] if len(others) == 1 and len(others[0]) <= _SHORT else "candidate",
        }


def findings(
    comparisons: Sequence[Comparison],
    verdict: GateVerdict | None = None,
    scanned: Sequence[Scanned] = (),
) -> Findings:
    """All results and notes."""
    results = of_analysis.of_comparisons(comparisons)
    alone = [one for one in results if not one.is_point]
    changes = [*notes.changes(alone), *scan.headlines(scanned)]
    if verdict is None:
        failed = [run for one in comparisons for run in failed_runs(one.record)]
        said = [*changes, *notes.failures(failed)]
    else:
        prices = [one for one in changes if one.kind == notes.PRICE]
        outcome, *others = notes.of_verdict(verdict)
        said = [outcome, *prices, *others]
    return Findings(
        labels=tuple(row.label for row in comparisons[0].rows) if comparisons else (),
        basis=_basis(comparisons),
        results=results,
        judgements=None if verdict is None else of_analysis.of_verdict(verdict),
        notes=[*said, *notes.cautions(comparisons)],
    )


def _basis(comparisons: Sequence[Comparison]) -> str:
    topologies = {one.record.topology for one in comparisons}
    processes = topologies.pop() if len(topologies) == 1 else ""
    processes = "1 process" if processes == "single" else processes.removeprefix("cluster, ")
    counts = sorted({one.rounds for one in comparisons if one.rounds})
    rounds = format_count(counts[-1], "round", "rounds") if counts else "no rounds"
    if len(counts) > 1:
        rounds = f"{counts[0]}–{rounds}"
    return ", ".join(filter(None, (processes, rounds)))


def answer(found: Findings) -> Answer:
    """What they come to, for people: a table has what fails already."""
    table = _scenarios(found) if found.judgements is None else decided(found)
    return Answer(title=found.title, basis=found.basis, notes=found.shown, table=table)


def _scenarios(found: Findings) -> Table:
    """A row for each candidate in each scenario, and beneath it what came later or earlier.

    Of a revision that is compared with none, what each scenario costs it.
    """
    judged = {one.metric.title for one in found.results if one.judged}
    what = next(iter(judged), "cost") if len(judged) < 2 else "steady CPU"
    several = len(found.labels) > 2
    # What is not judged is worth a row only where it certainly changed.
    changed = (Verdict.SLOWER, Verdict.FASTER)
    rows = [
        replace(forest.row_of(one), cost=_name(one, what, several=several))
        for one in found.results
        if one.is_main and (one.judged or one.is_alone or one.verdict in changed)
    ]
    has_groups = several or len(found.labels) == 1
    return forest.tabulate(
        "",
        rows,
        {**found.sides, **(COLUMNS if found.labels[1:] else {})},
        names={"cost": what},
        groups=[row.place for row in rows]
        if has_groups and len({row.place for row in rows}) > 1
        else (),
    )


def _name(found: MetricResult, what: str, *, several: bool) -> str:
    if not found.judged:
        return f"{'' if found.is_alone else '  '}{found.metric.title}"
    name = found.revision if several else found.scenario
    return name if found.metric.title == what else f"{name}, {found.metric.title}"


def costs(
    found: Findings,
    results: Iterable[MetricResult],
    title: str,
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Figures beside those of the baseline; of a revision alone, its own."""
    rows = forest.rows_of(results, colours)
    if not found.labels[1:]:
        return forest.tabulate(title, rows, found.sides)
    return forest.tabulate(title, rows, {**found.sides, **COLUMNS}, forest.axis_of(rows))


def scenario(found: Findings, name: str) -> Table:
    """Every figure of one scenario."""
    return costs(found, found.of_scenario(name), f"{name} · {found.basis} · means")


def of_commands(found: Findings) -> list[Table]:
    """What commands measure of themselves, a table a scenario: a row a metric."""
    tables = []
    places = (one.scenario for one in found.results if one.metric.is_of_command)
    for place in dict.fromkeys(places):
        cells: dict[str, dict[str, str]] = {}
        for one in (one for one in found.of_scenario(place) if one.metric.is_of_command):
            row, shown = forest.row_of(one), cells.setdefault(one.metric.title, {})
            shown[found.labels[0]] = row.after if one.is_alone else row.before
            if not one.is_alone:
                shown[one.revision] = row.after if row.dot is None else f"{row.after}\n{row.change}"
        header = (Heading("metric"), *(Heading(one, is_left=False) for one in found.labels))
        rows = [
            (title, *(of.get(label, NOTHING) for label in found.labels))
            for title, of in cells.items()
        ]
        title = f"{place} · what the command measured"
        tables.append(Table(title=title, header=header, rows=tuple(rows)))
    return tables


def decided(found: Findings) -> Table:
    """What the outcome of a gate rests on, with what each scenario costs both sides."""
    decisive, _ = of_analysis.decisive(found.judgements or ())
    rows = [row for one in decisive for row in _with_values(one, found.results)]
    has_values = any(row.before.strip(f" {NOTHING}") for row in rows)
    return gate_table(rows, {**(found.sides if has_values else {}), **GATE_COLUMNS})


def gate_table(rows: Sequence[ForestRow], columns: Mapping[str, str] = GATE_COLUMNS) -> Table:
    """Answers of a gate, below where they were asked."""
    several = len({row.label for row in rows}) > 1
    places = [f"{row.label}: {row.place}" if several else row.place for row in rows]
    return forest.tabulate("", rows, columns, names={"cost": "cost"}, groups=places)


def details(found: Findings) -> Table:
    """All that a gate asked."""
    asked = found.judgements or ()
    table = gate_table([forest.row_of(one) for one in of_analysis.by_urgency(asked)])
    return replace(table, title=f"the gate · {format_count(len(asked), 'question', 'questions')}")


def _with_values(asked: MetricResult, results: Sequence[MetricResult]) -> Iterator[ForestRow]:
    """An answer, with the figures of its scenario; of several, each in a row below it."""
    row = forest.row_of(asked)
    of_scenarios = [
        forest.row_of(one)
        for one in results
        if one.scenario in asked.scenarios
        and (one.revision, one.metric.name) == (asked.revision, asked.metric.name)
    ]
    if len(asked.scenarios) == 1 and of_scenarios:
        yield replace(row, before=of_scenarios[0].before, after=of_scenarios[0].after)
    elif asked.ratio is None or not of_scenarios:
        yield row
    else:
        yield replace(row, before=" ", after=" ")
        for one in of_scenarios:
            yield replace(
                one, place=row.place, cost=f"  {one.place}", mark=" ", change=" ", interval=" ",
                allowed=" ", dot=None,
            )  # fmt: skip


def next_step(
    found: Findings, verdict: GateVerdict | None, rounds: int, argv: Sequence[str]
) -> Command | None:
    """What is best done now with a comparison that was typed so; ``None`` where nobody knows."""
    verdicts = {one.verdict for one in found.results if one.judged and one.verdict}
    is_open = Verdict.INCONCLUSIVE in verdicts
    more, purpose = [], ""
    if verdict is not None:
        is_open = verdict.outcome is GateOutcome.INCONCLUSIVE
        verdicts = {Verdict.SLOWER} if verdict.failures else set()
        more, purpose = ["--full"] * is_open, "longer runs tell smaller changes apart"
    elif is_open:
        more = ["--rounds", str(max(notes.ENOUGH_ROUNDS, rounds * _MORE_ROUNDS))]
        purpose = "more rounds tell smaller changes apart"
    elif verdicts:
        more, purpose = ["--gate"], "exit code 1 as soon as it costs more, for CI"
    if Verdict.SLOWER in verdicts and not is_open:
        more, purpose = ["--why"], "which thread wakes up, and in which line of code"
    same = sum(one.kind == notes.SAME_BUILD for one in found.notes)
    # More rounds find nothing between what is the same.
    is_futile = is_open and same == len(found.labels) - 1
    if list(argv[:1]) != ["compare"] or is_futile or not more or more in ([one] for one in argv):
        return None
    return Command(again(argv, *more), purpose)


def again(argv: Sequence[str], *more: str) -> str:
    """A command as it was typed, into a folder of its own, with more options."""
    left_out = {*_NOT_AGAIN, "--resume", *(word for word in more if word.startswith("--"))}
    words = []
    is_value = False
    for word in argv[1:]:
        is_left_out = is_value or word.partition("=")[0] in left_out
        is_value = not is_value and word in _NOT_AGAIN
        if not is_left_out:
            words.append(word)
    return f"{called(argv[0])} {shlex.join((*words, *more))}"
