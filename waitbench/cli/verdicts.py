"""The check of ``compare --fail-on``: rounds until the verdicts are settled, then the verdicts, wherever they are read."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console

from waitbench.analysis import gate
from waitbench.analysis.gate import Criterion, GateVerdict
from waitbench.cli.preparation import Request
from waitbench.execution.measure import NOT_SUPPORTED
from waitbench.execution.session import Session
from waitbench.model.scenario import Scenario
from waitbench.reporting import gate as gate_report
from waitbench.store import results
from waitbench.store.results import Record
from waitbench.system.watch import DISTURBED


class CheckOptions(Protocol):
    """What is needed of the options of a check."""

    @property
    def fail_on(self) -> tuple[str, ...]: ...
    @property
    def most_rounds(self) -> int: ...
    @property
    def strict(self) -> bool: ...
    @property
    def markdown(self) -> Path | None: ...
    @property
    def junit(self) -> Path | None: ...


def measure(
    at_work: Session, chosen: Sequence[Scenario], criteria: Sequence[Criterion], most_rounds: int, budget_s: float
) -> None:
    """Adds rounds until every verdict is settled, or the rounds or the budget end."""
    labels = list(at_work.measurer.environments)
    if not labels:
        return
    family = _family(at_work.records, criteria)

    def settled(record: Record) -> bool:
        return gate.is_settled(gate.judge(record, criteria, family, most_rounds))

    at_work.carry_out_until(settled, chosen, labels, most_rounds, budget_s)


def verdict_of(
    records: Mapping[str, Record], criteria: Sequence[Criterion], most_rounds: int, *, strict: bool
) -> GateVerdict:
    """Judges everything that was measured."""
    family = _family(records, criteria)
    judgements = [
        judgement for record in records.values() for judgement in gate.judge(record, criteria, family, most_rounds)
    ]
    unsupported = {(j.label, j.scenario) for j in judgements if _is_unsupported(records[j.scenario], j.label)}
    return GateVerdict(
        criteria=tuple(criteria),
        judgements=tuple(j for j in judgements if (j.label, j.scenario) not in unsupported),
        strict=strict,
        family=family,
        most_rounds=most_rounds,
        disturbed_runs=sum(outcome.reason == DISTURBED for record in records.values() for outcome in record.outcomes),
        unsupported=tuple(sorted(f"{label} in {scenario}" for label, scenario in unsupported)),
    )


def conclude(records: Mapping[str, Record], request: Request, options: CheckOptions, output: Console | None) -> GateVerdict:
    """The verdict, written to ``verdict.json`` and wherever else it was asked for, and printed to ``output`` if given."""
    verdict = verdict_of(records, gate.parse(options.fail_on), options.most_rounds, strict=options.strict)
    results.write_safely(request.results / results.VERDICT_NAME, gate_report.to_json(verdict))
    markdown = gate_report.markdown(verdict)
    if options.markdown is not None:
        results.write_safely(options.markdown, markdown)
    if options.junit is not None:
        results.write_safely(options.junit, gate_report.junit(verdict))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        # Appended, as the runner expects of every step.
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown)
    if output is not None:
        gate_report.print_verdict(verdict, output)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for annotation in gate_report.annotations(verdict):
                output.print(annotation, markup=False, highlight=False, soft_wrap=True)
    return verdict


def _family(records: Mapping[str, Record], criteria: Sequence[Criterion]) -> int:
    candidates = max((len(record.context.labels) - 1 for record in records.values()), default=0)
    return gate.questions(len(records), candidates, criteria)


def _is_unsupported(record: Record, label: str) -> bool:
    labels = (label, record.context.labels[0])
    return any(outcome.reason == NOT_SUPPORTED and outcome.label in labels for outcome in record.outcomes)
