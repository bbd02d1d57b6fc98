"""The findings of a comparison, and the tables and the next step of its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from waitbench.analysis.gate import GateVerdict, failures_by_revision
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import MetricResult, Note, by_urgency, decisive, with_answers
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import METRIC_ORDER, STOP
from waitbench.model.scenario import RATE
from waitbench.model.verdicts import GateStatus, Verdict
from waitbench.reporting import forest, notes
from waitbench.reporting.document import Contribution, Report, Table, grouped
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.formats import format_count, format_span

_MOST_NAMED = 2
"""The most candidates that a title names."""
_ONCE_A_RUN = {"latency", "latency-p50", "latency-max", "startup", "stop", "memory"}
"""The names of metrics that a run of a worker file without a rate has once."""
_ROUNDS_FACTOR = 2
"""The factor by which more rounds are proposed, if there were too few."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results and notes of a comparison, of which every view is made."""

    folder: Path = Path()
    labels: tuple[str, ...] = ()
    basis: str = ""
    """The processes, rounds and windows behind the figures."""
    comparisons: Sequence[Comparison] = ()
    results: Sequence[MetricResult] = ()
    verdict: GateVerdict | None = None
    notes: Sequence[Note] = ()
    contributions: Sequence[Contribution] = ()

    @property
    def judgements(self) -> Sequence[Judgement]:
        return self.verdict.judgements if self.verdict else ()

    @property
    def distinct_notes(self) -> tuple[Note, ...]:
        return tuple({note.text: note for note in self.notes}.values())

    @property
    def title(self) -> str:
        baseline, *candidates = self.labels or ("",)
        if len(candidates) == 1:
            return f"{baseline} → {candidates[0]}"
        number = len(candidates)
        names = " and ".join(candidates) if number <= _MOST_NAMED else f"{number} revisions"
        return f"{names} against {baseline}" if candidates else baseline

    @property
    def main(self) -> Sequence[MetricResult]:
        """The ratios that charts draw, or means of one revision; of many, only the judged ones."""
        results = [it for it in self.results if not it.is_point]
        if not self.labels[1:]:
            return [it for it in results if it.headline]
        if len(self.labels) > _MOST_NAMED + 1:
            return [it for it in results if it.judged]
        return [
            it
            for it in results
            if it.judged or it.metric.name == "real" or (it.metric.name == "latency" and it.waits)
        ]


def findings(
    comparisons: Sequence[Comparison],
    verdict: GateVerdict | None = None,
    folder: Path = Path(),
    contributions: Sequence[Contribution] = (),
) -> Findings:
    """Collects the results and notes of a comparison; those of a gate come first."""
    judgements = verdict.judgements if verdict else ()
    figures = [result for comparison in comparisons for result in comparison.results]
    results = with_answers(figures, judgements)
    changes = [
        *notes.changes([it for it in results if not it.is_point]),
        *(note for contribution in contributions for note in contribution.notes),
    ]
    if verdict is None:
        failed = [run for it in comparisons for run in failures_by_revision(it.record)]
        first = [*changes, *notes.failures(failed)]
    else:
        # A note without a count says that nothing got worse.
        worse = [it for it in changes if it.kind == notes.WORSE and it.count]
        outcome, *others = notes.of_verdict(verdict)
        first = [outcome, *worse, *others]
    return Findings(
        folder=folder,
        labels=tuple(comparisons[0].figures) if comparisons else (),
        basis=_basis(comparisons, results),
        comparisons=comparisons,
        results=results,
        verdict=verdict,
        notes=[*first, *notes.cautions(comparisons, is_gate=verdict is not None)],
        contributions=contributions,
    )


def remarks(comparison: Comparison) -> list[str]:
    """Cautions about the worker of a comparison, for a table of several workers."""
    return [
        f"{comparison.record.scenario}: {note.text}."
        for note in findings([comparison]).notes
        if (note.revision or note.kind == notes.DISTURBED) and note.kind not in notes.HEADLINES
    ]


def _basis(comparisons: Sequence[Comparison], results: Sequence[MetricResult]) -> str:
    topologies = {it.record.topology for it in comparisons}
    (processes,) = topologies if len(topologies) == 1 else ("",)
    processes = "1 process" if processes == "single" else processes.removeprefix("cluster, ")
    counts = {it.rounds for it in comparisons if it.rounds}
    rounds = f"{format_span(counts, '') or 'no'} {'round' if counts == {1} else 'rounds'}"
    has_seconds = any(it.metric.name == "real" for it in results)
    parts = (processes, rounds, _windows(comparisons), "mean seconds" if has_seconds else "")
    return ", ".join(filter(None, parts))


def _windows(comparisons: Sequence[Comparison]) -> str:
    """The median lengths of the windows of workers that run until they are stopped."""
    records = [it.record for it in comparisons if STOP in it.record.metrics]
    by_record = [[run.window_s or 0.0 for run in it.measurements] for it in records]
    medians = (round(median(windows), 1) for windows in by_record if windows)
    span = format_span(filter(None, medians), "g")
    return f"{span} s windows" if span else ""


def summarize(findings: Findings) -> Report:
    """The report of a console: figures of each scenario, and the deciding questions of a gate."""
    shown, _ = decisive(findings.judgements)
    tables = [*forest.first_screen(findings.labels, findings.results)]
    if findings.verdict is not None:
        tables.append(gate_table(findings, shown))
    return Report(
        title=findings.title, facts=(findings.basis,), notes=findings.distinct_notes, tables=tables
    )


def result_table(findings: Findings, results: Sequence[MetricResult], title: str) -> Table:
    """A row for each result: the figures of both revisions, or of the only one."""
    columns, axis = forest.value_columns(findings.labels), None
    if findings.labels[1:]:
        columns, axis = (*columns, *forest.COLUMNS), forest.axis_of(results)
    colours = colours_of(findings.labels)
    return forest.tabulate(title, results, columns, axis=axis, colours=colours)


def scenario_table(findings: Findings, name: str, *, everything: bool = False) -> Table:
    """The main figures of a scenario, and those that its worker file declares; or all."""
    results = [it for it in findings.results if it.scenario == name]
    if not everything:
        results = [it for it in results if it.metric.name in METRIC_ORDER or it.metric.is_declared]
    return result_table(findings, results, f"{name} · {findings.basis}")


def command_tables(findings: Findings) -> list[Table]:
    """A table for each scenario of the metrics that commands report themselves."""
    by_scenario = grouped(
        (it for it in findings.results if it.metric.is_of_command), lambda it: it.scenario
    )
    return [
        result_table(findings, results, f"{name} · what the command measured")
        for name, results in by_scenario.items()
    ]


def gate_table(findings: Findings, judgements: Sequence[MetricResult], title: str = "") -> Table:
    """Answers of a gate, grouped by scenario, with the figures of both revisions."""
    has_several_candidates = len(findings.labels) > 2 or len({it.revision for it in judgements}) > 1
    has_figures = any(it.after for it in judgements)
    has_rises = any(it.limit is None for it in judgements)
    return forest.tabulate(
        title,
        judgements,
        (
            *(forest.value_columns(findings.labels, are_optional=True) if has_figures else ()),
            *(forest.GATE_COLUMNS if has_rises else forest.LIMIT_COLUMNS),
        ),
        axis=forest.axis_of(judgements),
        names=(("cost", forest.cost_of),),
        groups=[
            f"{it.revision}: {it.scenario}" if has_several_candidates else it.scenario
            for it in judgements
        ],
    )


def question_table(findings: Findings) -> Table:
    judgements = by_urgency(findings.judgements)
    number = format_count(len(judgements), "question", "questions")
    return gate_table(findings, judgements, f"the gate · {number}")


def next_step(findings: Findings) -> str:
    """The option of ``compare`` to use next, and its purpose; empty if there is none."""
    if not findings.comparisons:
        return ""
    verdict = findings.verdict
    verdicts = {it.verdict for it in findings.results if it.judged and it.verdict}
    idle = {it.verdict for it in findings.results if it.metric.name == "idle"}
    if verdict is not None:
        is_open, is_slower = verdict.outcome is GateStatus.INCONCLUSIVE, bool(verdict.failures)
        record, option = findings.comparisons[0].record, "--full"
        if STOP in record.metrics:
            window_s = record.spec.parameters.get("window", 0)
            can_help = any(
                it.metric.name not in _ONCE_A_RUN or RATE in part.spec.parameters
                for it in verdict.answers(Verdict.INCONCLUSIVE)
                for part in it.records
            )
            option = f"--set window={max(30.0, 2 * float(window_s)):g}" if can_help else ""
        elif any(metric.is_of_command for metric in record.metrics):
            option = ""  # a command that ends by itself has no window
        purpose = "longer runs detect smaller changes"
    else:
        is_open, is_slower = Verdict.INCONCLUSIVE in verdicts, Verdict.SLOWER in verdicts | idle
        rounds = max(comparison.rounds for comparison in findings.comparisons)
        option = f"--rounds {max(notes.ENOUGH_ROUNDS, rounds * _ROUNDS_FACTOR)}"
        purpose = "more rounds detect smaller changes"
    explains = [it.explains for it in findings.contributions if it.explains]
    if not is_open and is_slower and explains:
        option, purpose = explains[0]
    elif not is_open:
        option = "--gate" if verdicts and verdict is None else ""
        purpose = "exit code 1 if the candidate costs more, for CI"
    same = sum(note.kind == notes.SAME_BUILD for note in findings.notes)
    # More rounds find no difference between equal builds.
    is_futile = is_open and 0 < same == len(findings.labels) - 1
    argv = findings.comparisons[0].record.context.argv
    if list(argv[:1]) != ["compare"] or is_futile or option in ("", *argv):
        return ""
    return f"{option}: {purpose}"
