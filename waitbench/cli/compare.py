"""``compare``: the main job. Environments, runs, results, verdicts, charts, report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from waitbench.cli import charts
from waitbench.cli.preparation import Checked, Prepared, Request, check, prepare
from waitbench.cli.progress import PreparationLog, RunProgress
from waitbench.execution import plan, session, timeline
from waitbench.execution.guard import Guard
from waitbench.execution.measure import HARMLESS, Measurement, Measurer, Outcome, is_supported
from waitbench.execution.plan import PlannedRun
from waitbench.execution.session import Session
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.scenario import Scenario
from waitbench.store import results
from waitbench.store.results import Record
from waitbench.system.places import Cache

if TYPE_CHECKING:  # statistics take a second to import, which no error message should wait for
    from waitbench.analysis.gate import Criterion


@dataclass(frozen=True)
class Check:
    """What ``--fail-on`` and the options that go with it ask for."""

    fail_on: tuple[str, ...]
    most_rounds: int
    budget_s: float
    strict: bool
    full: bool
    markdown: Path | None
    junit: Path | None


@dataclass(frozen=True)
class Options:
    """What ``compare`` does besides measuring."""

    rounds: int
    resume: bool
    plot: bool
    timeline: bool
    launcher_cost: bool
    quiet: bool
    as_json: bool


def compare(request: Request, options: Options, gate_options: Check, output: Console, progress: Console) -> ExitCode:
    """The main job. Raises ``HarnessError``."""
    if options.rounds < 1:
        raise UsageError(f"--rounds {options.rounds}: at least 1.")
    gated = bool(gate_options.fail_on)
    say = PreparationLog(progress, quiet=options.quiet)
    criteria = _criteria(request, gate_options)
    checked = check(request, say, quick=gated and not gate_options.full)
    if gated:
        _check_budget(checked, gate_options)
    with session.exclusive(request.results, checked.cache):
        earlier = _earlier(request, options)
        prepared = prepare(checked, request.argv, progress, say)
        records = _records(prepared, earlier)
        if not options.resume:
            put_aside(request.results, checked.cache, say)
        with Guard() as guard:
            measurer = prepared.measurer(guard.watch, request.time_limit_s)
            with RunProgress((), progress, quiet=options.quiet) as run_progress:
                at_work = Session(measurer, records, request.results, run_progress)
                if gated:
                    from waitbench.cli import verdicts

                    verdicts.measure(at_work, checked.scenarios, criteria, gate_options.most_rounds, gate_options.budget_s)
                else:
                    _measure_rounds(at_work, checked.scenarios, options.rounds)
            if options.launcher_cost:
                _add_launcher_cost(checked.scenarios, measurer, records, say)
            if options.timeline:
                _add_timelines(checked.scenarios, measurer, request.results, say)
        finish(records, request.results)
        drawn = charts.draw(results.Contents(list(records.values())), request.results, ("png",)) if options.plot else []
    return _conclude(records, drawn, request, options, gate_options, criteria, output)


def _conclude(
    records: Mapping[str, Record],
    drawn: Sequence[Path],
    request: Request,
    options: Options,
    gate_options: Check,
    criteria: "Sequence[Criterion]",
    output: Console,
) -> ExitCode:
    from waitbench.analysis import statistics
    from waitbench.families import reports as family_reports
    from waitbench.reporting import report

    comparisons = [statistics.compare(record) for record in records.values()]
    for comparison in comparisons:
        if options.quiet and not options.as_json:
            for sentence in report.sentences(comparison):
                output.print(f"{comparison.scenario}: {sentence}", highlight=False, markup=False, soft_wrap=True)
        elif not options.as_json:
            report.print_comparison(comparison, output)
    if not options.quiet and not options.as_json:
        for table in family_reports.tables(results.Contents(list(records.values()))):
            table.print_to(output)
    code = ExitCode.OK
    verdict = None
    if criteria:
        from waitbench.cli import verdicts

        verdict = verdicts.conclude(records, request, gate_options, None if options.as_json else output)
        code = verdict.exit_code
    if options.as_json:
        from waitbench.reporting import gate as gate_report

        data: object = report.as_json(comparisons)
        output.print_json(data={"comparisons": data, "verdict": gate_report.as_json(verdict)} if verdict else data)
    else:
        charts_text = f", {len(drawn)} charts (*.png)" if drawn else ""
        output.print(f"Results in {request.results}: *.json, {results.CSV_NAME}{charts_text}", soft_wrap=True)
    failed = any(outcome.reason not in HARMLESS for record in records.values() for outcome in record.outcomes)
    return ExitCode.FAILED if failed else code


def finish(records: Mapping[str, Record], folder: Path) -> None:
    """Writes all records and the table of all runs."""
    for record in records.values():
        results.write(record, folder)
    results.write_csv(list(records.values()), folder)


def put_aside(folder: Path, cache: Cache, say: PreparationLog) -> None:
    """Moves the results of an earlier comparison out of the way: nothing is lost, and no chart mixes two comparisons."""
    old = [path for suffix in ("json", "csv", "png", "svg") for path in folder.glob(f"*.{suffix}")]
    if old:
        target = cache.folder(f"earlier-results/{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}")
        for path in old:
            # Not rename: the results may be on another file system.
            (target / path.name).write_bytes(path.read_bytes())
            path.unlink()
        say.about(f"the earlier results in {folder} are now in {target}")


def _criteria(request: Request, gate_options: Check) -> "Sequence[Criterion]":
    """Checked before anything is looked up: a wrong criterion must not cost a download."""
    if not gate_options.fail_on:
        return ()
    from waitbench.analysis import gate

    criteria = gate.parse(gate_options.fail_on)
    if len(request.revisions) < 2:
        raise UsageError("--fail-on compares candidates with a baseline: name at least two revisions.")
    if gate_options.most_rounds < gate.FEWEST_ROUNDS:
        raise UsageError(f"--max-rounds {gate_options.most_rounds}: at least {gate.FEWEST_ROUNDS}, the first look.")
    if not gate_options.budget_s > 0:
        raise UsageError(f"--budget {gate_options.budget_s:g}: must be above zero seconds.")
    return criteria


def _check_budget(checked: Checked, gate_options: Check) -> None:
    one_round_s = sum(scenario.expected_s for scenario in checked.scenarios) * len(checked.recipes)
    if gate_options.budget_s < one_round_s:
        raise UsageError(
            f"--budget {gate_options.budget_s:g}: one round of {len(checked.scenarios)} scenarios takes about {one_round_s:.0f} s, "
            f"and a verdict at least three. Allow {math.ceil(one_round_s * 5 / 10) * 10} s or more, or name fewer scenarios."
        )


def _measure_rounds(at_work: Session, chosen: Sequence[Scenario], rounds: int) -> None:
    done = {(r.scenario, m.label, m.round) for r in at_work.records.values() for m in r.measurements}
    labels = list(at_work.measurer.environments)
    runs = plan.missing(plan.schedule(chosen, labels, rounds), done) if labels else ()
    at_work.progress.extend(runs)
    at_work.carry_out(runs)


def _earlier(request: Request, options: Options) -> Mapping[str, Record]:
    if not options.resume or not any(request.results.glob("*.json")):
        return {}
    return {record.scenario: record for record in results.read_all(request.results)}


def _records(prepared: Prepared, earlier: Mapping[str, Record]) -> dict[str, Record]:
    """A record for each scenario: the earlier one's measurements where a comparison is resumed."""
    records = {}
    for scenario in prepared.checked.scenarios:
        record = Record(scenario.name, scenario.parameters, prepared.context)
        before = earlier.get(scenario.name)
        if before is not None:
            if before.context.identity != prepared.context.identity or dict(before.parameters) != dict(scenario.parameters):
                raise UsageError(
                    f"The results of {scenario.name} are of another comparison (revisions, Python, topology or parameters "
                    "differ), so it cannot be resumed. Repeat the command as it was, or leave out --resume."
                )
            record.measurements += before.measurements
        for label, error in prepared.errors.items():
            record.add(_not_built(label, error, prepared.context.started_at))
        records[scenario.name] = record
    return records


def _not_built(label: str, error: HarnessError, started_at: str) -> Outcome:
    return Outcome(label, plan.WARM_UP, 0, started_at, "not-built", str(error).splitlines()[0], str(error))


def _add_launcher_cost(
    chosen: Sequence[Scenario], measurer: Measurer, records: Mapping[str, Record], say: PreparationLog
) -> None:
    """One extra run of each revision under bytewax's own launcher, to know what that would have added."""
    extra = replace(measurer, topology=replace(measurer.topology, kind="launcher"))
    for scenario in chosen:
        for label, environment in measurer.environments.items():
            if not is_supported(scenario, environment):
                continue
            say(label, f"one more run of {scenario.name} under bytewax's own launcher")
            result = extra.measure(PlannedRun(scenario, label, plan.WARM_UP, 0))
            if isinstance(result, Measurement) and "time_cpu_launcher" in result.metrics:
                records[scenario.name].launcher_cpu_s[label] = result.metrics["time_cpu_launcher"]


def _add_timelines(chosen: Sequence[Scenario], measurer: Measurer, folder: Path, say: PreparationLog) -> None:
    for scenario in chosen:
        samples = []
        for label, environment in measurer.environments.items():
            if not is_supported(scenario, environment):
                continue
            say(label, f"one more run of {scenario.name}, sampled for its timeline")
            samples += timeline.record(scenario, label, measurer)
        results.write_safely(folder / f"{scenario.name}{timeline.SUFFIX}", timeline.write(samples))
