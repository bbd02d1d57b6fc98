"""Comparisons and a verdict -> what they come to, and how a report of it begins and ends."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from types import MappingProxyType

import msgspec

from waitbench.analysis import results as of_analysis
from waitbench.analysis.gate import GateVerdict, failed_runs
from waitbench.analysis.results import Note
from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import FIRST, Comparison, MetricResult
from waitbench.model.metrics import STOP
from waitbench.model.verdicts import GateOutcome, Verdict
from waitbench.reporting import forest, matrix, notes, scan
from waitbench.reporting.document import Answer, Table
from waitbench.reporting.formats import format_count
from waitbench.system.installation import called

_NAMED = 2
"""So many candidates are named in the title."""
_MORE_ROUNDS = 2
"""By how much more rounds are proposed where those that were made did not tell enough."""
_CERTAIN = (Verdict.SLOWER, Verdict.FASTER, Verdict.EXPLAINED)
"""Answers by which a candidate is not what the baseline is."""
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
        """Each text once."""
        return tuple({one.text: one for one in self.notes}.values())

    @property
    def title(self) -> str:
        """What was compared with what."""
        baseline, *others = self.labels or ("",)
        if len(others) == 1:
            return f"{baseline} → {others[0]}"
        names = " and ".join(others) if len(others) <= _NAMED else f"{len(others)} revisions"
        return f"{names} against {baseline}" if others else baseline

    @property
    def main(self) -> Sequence[MetricResult]:
        """The ratios that charts draw: of many candidates, those that are judged alone."""
        is_short = len(self.labels) <= _NAMED + 1
        return [it for it in self.results if it.is_main and (is_short or it.judged)]


def findings(
    comparisons: Sequence[Comparison],
    verdict: GateVerdict | None = None,
    scanned: Sequence[Scanned] = (),
) -> Findings:
    """All results and notes."""
    judgements = None if verdict is None else of_analysis.of_verdict(verdict)
    results = of_analysis.of_comparisons(comparisons)
    results = of_analysis.with_answers(results, judgements or ())
    changes = [*notes.changes([it for it in results if not it.is_point]), *scan.headlines(scanned)]
    if verdict is None:
        failed = [run for it in comparisons for run in failed_runs(it.record)]
        first = [*changes, *notes.failures(failed)]
    else:
        worse = [it for it in changes if it.kind == notes.WORSE and it.count]
        outcome, *others = notes.of_verdict(verdict)
        first = [outcome, *worse, *others]
    different = {it.revision for it in (*(judgements or ()), *results) if it.verdict in _CERTAIN}
    return Findings(
        labels=tuple(comparisons[0].figures) if comparisons else (),
        basis=_basis(comparisons, results),
        results=results,
        judgements=judgements,
        notes=[*first, *notes.cautions(comparisons, different, is_gate=verdict is not None)],
    )


def remarks(comparison: Comparison) -> list[str]:
    """What to know of a worker in a table of several."""
    return [
        f"{comparison.record.scenario}: {note.text}."
        for note in findings([comparison]).notes
        if (note.revision or note.kind == notes.DISTURBED) and note.kind not in notes.HEADLINES
    ]


def _basis(comparisons: Sequence[Comparison], results: Sequence[MetricResult]) -> str:
    topologies = {one.record.topology for one in comparisons}
    processes = topologies.pop() if len(topologies) == 1 else ""
    processes = "1 process" if processes == "single" else processes.removeprefix("cluster, ")
    counts = sorted({one.rounds for one in comparisons if one.rounds})
    rounds = format_count(counts[-1], "round", "rounds") if counts else "no rounds"
    if len(counts) > 1:
        rounds = f"{counts[0]}–{rounds}"
    has_seconds = any(it.headline and it.metric.name == "real" for it in results)
    parts = (processes, rounds, _windows(comparisons), "mean seconds" if has_seconds else "")
    return ", ".join(filter(None, parts))


def _windows(comparisons: Sequence[Comparison]) -> str:
    """How long workers were watched that end when they are told to."""
    records = [one.record for one in comparisons if STOP in one.record.metrics]
    runs = [[record.window_s(run) or 0.0 for run in record.measurements] for record in records]
    windows = [round(median(of), 1) for of in runs if of]
    ends = (
        dict.fromkeys(f"{one:g}" for one in (min(windows), max(windows)) if one) if windows else ()
    )
    return f"{'–'.join(ends)} s windows" if ends else ""


def answer(found: Findings) -> Answer:
    """The deciding questions of a gate, then the figures of each scenario."""
    tables = [*matrix.tables(found.labels, found.results)]
    if found.judgements is not None:
        decides, _ = of_analysis.decisive(found.judgements)
        tables.insert(0, gate_table(found, decides, in_parts=True))
    return Answer(title=found.title, basis=found.basis, notes=found.shown, tables=tables)


def costs(
    found: Findings,
    results: Sequence[MetricResult],
    title: str,
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Figures beside those of the baseline; of a revision alone, its own."""
    if not found.labels[1:]:
        return forest.tabulate(title, results, forest.sides(found.labels), colours=colours)
    columns, axis = (*forest.sides(found.labels), *forest.COLUMNS), forest.axis_of(results)
    return forest.tabulate(title, results, columns, axis=axis, colours=colours)


def scenario(found: Findings, name: str, *, everything: bool = False) -> Table:
    """The figures of one scenario that a reader can act on, or all of them."""
    figures = [
        it
        for it in found.results
        if it.scenario == name and (everything or it.metric.name in FIRST or it.metric.is_own)
    ]
    return costs(found, figures, f"{name} · {found.basis}")


def of_commands(found: Findings) -> list[Table]:
    """What commands measure of themselves, a table a scenario."""
    own = [one for one in found.results if one.metric.is_of_command]
    places: dict[str, list[MetricResult]] = {}
    for one in own:
        places.setdefault(one.scenario, []).append(one)
    return [costs(found, of, f"{at} · what the command measured") for at, of in places.items()]


def gate_table(
    found: Findings,
    asked: Sequence[MetricResult],
    title: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
    *,
    in_parts: bool = False,
) -> Table:
    """Answers of a gate below where they were asked, with the figures of both sides.

    In parts, one about several scenarios has theirs in rows below it.
    """
    several = len({one.revision for one in asked}) > 1
    rows: list[MetricResult] = []
    groups: list[str] = []
    for one in asked:
        own = [
            of
            for of in found.results
            if of.scenario in one.scenarios
            and (of.revision, of.metric.name) == (one.revision, one.metric.name)
            and one.limit is None
        ]
        if len(one.scenarios) == 1 and own:
            rows.append(msgspec.structs.replace(one, before=own[0].before, after=own[0].after))
        else:
            rows.append(one)
            below = own if in_parts and one.ratio is not None else ()
            rows += [
                msgspec.structs.replace(of, ratio=None, verdict=None, why_not="", is_alone=True)
                for of in below
            ]
        group = f"{one.revision}: {one.scenario}" if several else one.scenario
        groups += [group] * (len(rows) - len(groups))
    sides = forest.sides(found.labels) if any(one.after for one in rows) else ()
    has_rises = any(one.limit is None for one in asked)
    return forest.tabulate(
        title,
        rows,
        (*sides, *(forest.GATE_COLUMNS if has_rises else forest.LIMIT_COLUMNS)),
        axis=forest.axis_of(rows),
        colours=colours,
        names=(("cost", _asked),),
        groups=groups,
    )


def _asked(found: MetricResult) -> str:
    return forest.cost_of(found) if found.criterion else f"    {found.scenario}"


def details(found: Findings) -> Table:
    """All that a gate asked."""
    asked = of_analysis.by_urgency(found.judgements or ())
    return gate_table(
        found, asked, f"the gate · {format_count(len(asked), 'question', 'questions')}"
    )


def next_step(
    found: Findings, verdict: GateVerdict | None, rounds: int, argv: Sequence[str]
) -> list[tuple[str, str]]:
    """What is best done now with a comparison that was typed so, and why; if anybody knows."""
    verdicts = {it.verdict for it in found.results if it.judged and it.verdict}
    idle = {it.verdict for it in found.results if it.metric.name == "idle"}
    if verdict is not None:
        is_open, is_slower = verdict.outcome is GateOutcome.INCONCLUSIVE, bool(verdict.failures)
        more, purpose = ["--full"], "longer runs tell smaller changes apart"
    else:
        is_open, is_slower = Verdict.INCONCLUSIVE in verdicts, Verdict.SLOWER in verdicts | idle
        more = ["--rounds", str(max(notes.ENOUGH_ROUNDS, rounds * _MORE_ROUNDS))]
        purpose = "more rounds tell smaller changes apart"
    if not is_open and is_slower:
        more, purpose = ["--why"], "which thread wakes up, and in which function"
    elif not is_open:
        more = ["--gate"] if verdicts and verdict is None else []
        purpose = "for CI: exit code 1 if it costs more"
    same = sum(one.kind == notes.SAME_BUILD for one in found.notes)
    # More rounds find nothing between what is the same.
    is_futile = is_open and 0 < same == len(found.labels) - 1
    if list(argv[:1]) != ["compare"] or is_futile or not more or more in ([one] for one in argv):
        return []
    return [("Next", f"{purpose}:"), ("", again(argv, *more))]


def again(argv: Sequence[str], *more: str) -> str:
    """A command as it was typed, into a folder of its own, with more options."""
    left_out = {*_NOT_AGAIN, "--resume", *(word for word in more if word.startswith("--"))}
    words = [
        word
        for before, word in pairwise(argv)
        if word.partition("=")[0] not in left_out and before not in _NOT_AGAIN
    ]
    return f"{called(argv[0])} {shlex.join((*words, *more))}"
