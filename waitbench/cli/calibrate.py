"""``calibrate``: compares a revision with itself, many times, to learn what the check is worth on this machine."""

import json
import math
import statistics as numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from scipy import stats

from waitbench.analysis import gate, sequential
from waitbench.analysis.gate import Criterion, GateVerdict
from waitbench.analysis.statistics import log_ratios, paired
from waitbench.cli import verdicts
from waitbench.cli.compare import finish
from waitbench.cli.preparation import Request, check, prepare
from waitbench.cli.progress import PreparationLog, RunProgress
from waitbench.execution import session
from waitbench.execution.guard import Guard
from waitbench.execution.session import Session
from waitbench.model.errors import ExitCode, UsageError
from waitbench.store import results
from waitbench.store.results import Record

POWER = 0.95
SUMMARY_NAME = "calibration.json"


@dataclass(frozen=True)
class CalibrationOptions:
    """How to calibrate."""

    comparisons: int
    fail_on: tuple[str, ...]
    most_rounds: int
    full: bool
    quiet: bool


def calibrate(request: Request, options: CalibrationOptions, output: Console) -> ExitCode:
    """Compares ``A`` with ``B``, both the same revision. Finished comparisons in the folder are kept and counted."""
    if options.comparisons < 1:
        raise UsageError(f"--comparisons {options.comparisons}: at least 1.")
    if len(request.revisions) != 1:
        raise UsageError("calibrate takes exactly one revision, such as: runner.py calibrate v0.21.1")
    if options.most_rounds < gate.FEWEST_ROUNDS:
        raise UsageError(f"--max-rounds {options.most_rounds}: at least {gate.FEWEST_ROUNDS}, the first look.")
    criteria = gate.parse(options.fail_on)
    text = request.revisions[0].partition("=")[2] or request.revisions[0]
    twice = replace(request, revisions=(f"A={text}", f"B={text}"))
    say = PreparationLog(output, quiet=options.quiet)
    checked = check(twice, say, quick=not options.full)
    with session.exclusive(request.results, checked.cache):
        prepared = prepare(checked, request.argv, output, say)
        if prepared.errors:
            return ExitCode.FAILED
        for earlier in request.results.glob(f"comparison-*/{results.VERDICT_NAME}"):
            if results.read_all(earlier.parent)[0].context.identity != prepared.context.identity:
                raise UsageError(f"{str(request.results)!r} holds a calibration of something else; name another --results.")
        with Guard() as guard:
            measurer = prepared.measurer(guard.watch, request.time_limit_s)
            for number in range(1, options.comparisons + 1):
                folder = request.results / f"comparison-{number:03d}"
                if (folder / results.VERDICT_NAME).exists():
                    continue
                folder.mkdir(exist_ok=True)
                records = {s.name: Record(s.name, s.parameters, prepared.context) for s in checked.scenarios}
                with RunProgress((), output, quiet=options.quiet or not output.is_terminal) as progress:
                    at_work = Session(measurer, records, folder, progress)
                    verdicts.measure(at_work, checked.scenarios, criteria, options.most_rounds, math.inf)
                finish(records, folder)
                verdict = verdicts.conclude(records, replace(twice, results=folder), _Check(options), None)
                if not options.quiet:
                    outcome = "false alarm" if verdict.failures else "pass"
                    output.print(f"comparison {number} of {options.comparisons}: {outcome}", highlight=False)
    _report(request.results, criteria, options, output)
    return ExitCode.OK


@dataclass(frozen=True)
class _Check:
    """A check as it is within a calibration."""

    options: CalibrationOptions
    strict: bool = False
    markdown: Path | None = None
    junit: Path | None = None

    @property
    def fail_on(self) -> tuple[str, ...]:
        return self.options.fail_on

    @property
    def most_rounds(self) -> int:
        return self.options.most_rounds


def false_alarm_interval(alarms: int, comparisons: int) -> tuple[float, float]:
    """Clopper and Pearson's exact 95 % interval of a rate."""
    interval = stats.binomtest(alarms, comparisons).proportion_ci(0.95, method="exact")
    return float(interval.low), float(interval.high)


def detectable_change(spread: float, rounds: int, margin: float, error: float) -> float:
    """The smallest ratio that is found slower with a chance of ``POWER`` at a look after so many rounds.

    ``spread`` is the standard deviation of the logarithm of one round's ratio. The bound lies above the margin when a noncentral t
    variable exceeds its critical value; the noncentrality that gives the power is found by bisection.
    """
    critical = float(stats.t.ppf(1 - error, rounds - 1))
    low, high = 0.0, critical + 10 * math.sqrt(1 + critical**2)
    for _ in range(60):
        middle = (low + high) / 2
        if stats.nct.sf(critical, rounds - 1, middle) < POWER:
            low = middle
        else:
            high = middle
    return math.exp(math.log1p(margin) + high * spread / math.sqrt(rounds))


def _report(folder: Path, criteria: Sequence[Criterion], options: CalibrationOptions, output: Console) -> None:
    comparisons = sorted(path.parent for path in folder.glob(f"comparison-*/{results.VERDICT_NAME}"))
    records = [results.read_all(path) for path in comparisons]
    judged = [
        verdicts.verdict_of({r.scenario: r for r in each}, criteria, options.most_rounds, strict=False) for each in records
    ]
    alarms = sum(bool(verdict.failures) for verdict in judged)
    low, high = false_alarm_interval(alarms, len(judged))
    output.print(
        f"False alarms: {alarms} of {len(judged)} comparisons of the revision with itself "
        f"({alarms / len(judged):.1%}, 95 % CI {low:.1%}–{high:.1%}); {sequential.ALPHA:.0%} are allowed.",
        highlight=False,
    )
    rows = _changes(records, judged[0], criteria, options.most_rounds)
    table = Table(
        title=f"Smallest rise found {POWER:.0%} of the time", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("scenario")
    table.add_column("metric")
    rounds = sequential.looks_until(options.most_rounds)
    shown = [look for look in rounds if look in (5, 10, 20, 40) or look == options.most_rounds]
    for look in shown:
        table.add_column(f"{look} rounds", justify="right")
    for row in rows:
        found = (row["by_rounds"][str(look)] for look in shown)
        table.add_row(
            row["scenario"], row["metric"], *(f"+{change - 1:.0%}" if change < 10 else "> 900 %" for change in found)
        )
    output.print(table)
    summary = {"comparisons": len(judged), "false_alarms": alarms, "interval": [low, high], "changes": rows}
    results.write_safely(folder / SUMMARY_NAME, json.dumps(summary, indent=1))
    output.print(f"Raw data in {folder}: {SUMMARY_NAME}, comparison-*/", soft_wrap=True)


def _changes(
    records: Sequence[Sequence[Record]], verdict: GateVerdict, criteria: Sequence[Criterion], most_rounds: int
) -> list[dict[str, Any]]:
    looks = sequential.looks_until(most_rounds)
    error = sequential.level(verdict.family, len(looks))
    rows = []
    for scenario in [record.scenario for record in records[0]]:
        for criterion in criteria:
            spread = _spread([r for each in records for r in each if r.scenario == scenario], criterion)
            changes: Mapping[str, float] = {
                str(look): detectable_change(spread, look, criterion.margin, error) for look in looks
            }
            rows.append(
                {"scenario": scenario, "metric": criterion.metric.name, "spread": spread, "by_rounds": dict(changes)}
            )
    return rows


def _spread(records: Sequence[Record], criterion: Criterion) -> float:
    """Standard deviation of a round's log ratio, within comparisons."""
    variances = []
    for record in records:
        logs = log_ratios(paired(record, "B", criterion.metric), criterion.metric)
        if len(logs) > 1:
            variances.append((numbers.variance(logs), len(logs) - 1))
    weight = sum(freedom for _, freedom in variances)
    return math.sqrt(sum(variance * freedom for variance, freedom in variances) / weight) if weight else math.nan
