"""The gate: what was asked of it, rounds until its verdicts are settled, and where these go."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from waitbench.analysis import criteria, gate, judging, sequential
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.gate import GateVerdict
from waitbench.cli.request import ValidRequest
from waitbench.families import METRICS
from waitbench.model.errors import UsageError
from waitbench.model.metrics import SYSTEM_CALLS
from waitbench.model.record import Record
from waitbench.reporting.gate import annotations, console, junit, markdown, plain
from waitbench.store import comparisons
from waitbench.system import files

VERDICT_NAME = "verdict"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What the gate is to do."""

    criteria: tuple[Criterion, ...]
    most_rounds: int
    budget_s: float = math.inf
    strict: bool = False
    """Whether an unclear verdict fails too."""
    full: bool = False
    """Whether scenarios keep their full length."""
    markdown: Path | None = None
    junit: Path | None = None

    @property
    def is_on(self) -> bool:
        return bool(self.criteria)

    def as_settings(self) -> dict[str, object]:
        """What it is to do, for the result files."""
        return {
            "criteria": list(map(str, self.criteria)),
            "max_rounds": self.most_rounds,
            "budget_s": self.budget_s,
            "strict": self.strict,
            "full": self.full,
        }

    def settles(self, candidates: int, scenarios: int) -> Callable[[Record], bool]:
        """Tells of a record whether more rounds would change nothing that matters."""
        hypotheses = gate.count_hypotheses(scenarios, candidates, self.criteria)

        def is_settled(record: Record) -> bool:
            return judging.is_settled(
                judging.judge(record, self.criteria, hypotheses, self.most_rounds)
            )

        return is_settled

    def conclude(self, records: Iterable[Record]) -> GateVerdict:
        """Judges everything that was measured."""
        return gate.conclude(records, self.criteria, self.most_rounds, strict=self.strict)

    def require_budget(self, request: ValidRequest) -> None:
        """Raises ``UsageError`` for a budget in which no verdict can be reached."""
        if self.is_on and self.budget_s < request.round_s:
            enough_s = math.ceil(request.round_s * 5 / 10) * 10
            raise UsageError(
                f"--budget {self.budget_s:g}: one round of {len(request.scenarios)} scenarios "
                f"takes about {request.round_s:.0f} s, and a verdict at least three. Allow "
                f"{enough_s} s or more, or name fewer scenarios."
            )


def read_criteria(texts: Sequence[str], most_rounds: int) -> tuple[Criterion, ...]:
    """What ``--fail-on`` names. Raises ``UsageError``: here, so that it costs no download."""
    if not texts:
        return ()
    found = criteria.parse(texts, METRICS)
    if most_rounds < sequential.FEWEST_ROUNDS:
        fewest = sequential.FEWEST_ROUNDS
        raise UsageError(f"--max-rounds {most_rounds}: must be at least {fewest}, the first look.")
    return found


def need_system_calls(found: Sequence[Criterion]) -> bool:
    """Whether a criterion is about system calls, which are counted only when asked for."""
    return any(criterion.metric.key == SYSTEM_CALLS for criterion in found)


def publish(verdict: GateVerdict, asked: Gate, folder: Path, output: Console | None) -> None:
    """Writes a verdict wherever it was asked for, and prints it to ``output`` if given."""
    comparisons.write_document(folder, VERDICT_NAME, plain.plain(verdict))
    rendered = markdown.render(verdict)
    if asked.markdown is not None:
        files.write_text(asked.markdown, rendered)
    if asked.junit is not None:
        files.write_text(asked.junit, junit.render(verdict))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        # Appended, as the runner expects of every step.
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(rendered)
    if output is not None:
        console.print_verdict(verdict, output)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for annotation in annotations.render(verdict):
                output.print(annotation, markup=False, highlight=False, soft_wrap=True)
