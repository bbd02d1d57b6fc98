"""Measures a request, and saves each run in a folder of results."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.rounds import why_interleaved
from waitbench.execution.concurrency import Concurrency, turn_s
from waitbench.execution.hyperfine import locate
from waitbench.execution.session import Session
from waitbench.model.metrics import CHANGED_BY_SHARING
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import Environment
from waitbench.model.scenario import LAUNCHER, Scenario, Topology
from waitbench.pipeline.concluding import print_so_far
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.preparation import (
    begin,
    build,
    interruption_message,
    make_header,
    measurer,
    new_records,
    require_unchanged,
)
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.reporting.document import grouped
from waitbench.reporting.output import Output, RunProgress
from waitbench.store import comparisons, folders, frames
from waitbench.store.comparisons import StoredComparison
from waitbench.system import shutdown


class StoppingRule(Protocol):
    """Decides when the rounds of a comparison suffice: a gate, a step of a search, or a number."""

    @property
    def criteria(self) -> Sequence[Criterion]:
        """The criteria of all questions. Runs omit system calls and pokes that none needs."""

    @property
    def most_rounds(self) -> int: ...

    @property
    def budget_s(self) -> float: ...

    def groups(self, scenarios: Sequence[Scenario]) -> Sequence[Sequence[Scenario]]:
        """Groups scenarios: a group is measured before the next; its scenarios take turns."""

    def unsettled(
        self, records: Sequence[ScenarioResults], elsewhere: Sequence[ScenarioResults]
    ) -> Mapping[str, int]:
        """Maps scenarios to the number of further rounds by which all answers may change.

        The records of ``elsewhere`` have no runs, as other machines measure these scenarios.
        """


@dataclass(frozen=True)
class FixedRounds:
    """Asks for the same number of rounds of each scenario."""

    most_rounds: int
    criteria: Sequence[Criterion] = ()
    budget_s: float = math.inf

    def groups(self, scenarios: Sequence[Scenario]) -> Sequence[Sequence[Scenario]]:
        """Groups the scenarios of a scan, so that a drift of the machine reaches all alike."""
        return [*grouped(scenarios, lambda it: it.scan.curve if it.scan else it.name).values()]

    def unsettled(
        self, records: Sequence[ScenarioResults], _elsewhere: Sequence[ScenarioResults]
    ) -> Mapping[str, int]:
        # The session knows which rounds are made.
        return {it.scenario: self.most_rounds for it in records}


def measure(
    valid: ValidRequest, folder: Path, output: Output, rule: StoppingRule | None = None
) -> StoredComparison:
    """Makes environments, then the runs that a folder lacks; saves each run before the next begins.

    The rule is by default the gate of the request, or else the requested number of rounds. Raises
    ``HarnessError``.
    """
    request = valid.request
    hyperfine = locate(valid.cache, output.log.about)
    built = build(valid, output)
    environments = {label: it for label, it in built.items() if isinstance(it, Environment)}
    fixed = FixedRounds(request.rounds, budget_s=valid.gate.budget_s)
    rule = rule or (valid.gate if valid.gate.is_on else fixed)
    rounds = rule.most_rounds if isinstance(rule, FixedRounds) else None
    settings = {
        "time_limit_s": request.time_limit_s,
        "instruments": sorted(valid.instruments.keys),
        **({} if request.worker is None else {"worker": dict(request.worker.texts)}),
        "rounds": rounds,
        "gate": rule if isinstance(rule, Gate) else None,
    }
    header = make_header(valid, environments, hyperfine, settings)
    records = new_records(header, valid.scenarios_here, built)
    contents = begin(folder, header, records, output.progress.print)
    # Concurrent runs share pages and caches, and may answer each other's messages.
    sensitive = [
        it for it in rule.criteria if it.metric.name in CHANGED_BY_SHARING or it.is_limit_of_cpu
    ]
    progress = RunProgress(output.progress, quiet=output.quiet)
    session = Session(
        measurer(valid, environments, hyperfine, rule.criteria),
        records,
        progress,
        partial(comparisons.append, folder),
        Concurrency(
            concurrent_scenarios(
                valid.scenarios_here,
                rule.criteria,
                valid.topology,
                is_shard=valid.shard is not None,
            ),
            partial(why_interleaved, criteria=sensitive),
            is_adaptive=rounds is None,
            may_skip_turn=isinstance(rule, Gate)
            and len(valid.labels) == 2
            and not any(it.limit for it in rule.criteria),
        ),
    )
    try:
        with progress:
            scenarios_elsewhere = [it for it in valid.scenarios if it not in valid.scenarios_here]
            elsewhere = new_records(header, scenarios_elsewhere, built)
            if environments:
                questions = OpenQuestions(rule, records, elsewhere.values())
                labels, scenarios = tuple(environments), valid.scenarios_here
                forecast = partial(seconds_left, session, scenarios, labels, questions)
                progress.expect(forecast, rule.budget_s, rounds)
                session.carry_out(
                    questions.rounds_needed,
                    rule.groups(scenarios),
                    labels,
                    rule.most_rounds,
                    rule.budget_s,
                )
                if rounds and any(session.lacking(it, labels, rounds) for it in records.values()):
                    progress.say("The budget is spent: --resume with a new --budget continues.")
                if output.verbosity > 1:
                    progress.say_time_spent()
            for extension in request.extensions:
                extension.after_runs(valid, session.measurer.bench, folder, progress)
    except shutdown.Interrupted:
        print_so_far(contents, output)
        frames.export(folder, contents.records)
        raise
    require_unchanged(valid, environments)
    comparisons.finish(folder, header, contents.records)
    return contents


@contextmanager
def run(
    request: Request,
    output: Output,
    *,
    measure: Callable[[ValidRequest, Path, Output], StoredComparison] = measure,
    resumable: Callable[[Path], object] = comparisons.read_begun,
) -> Iterator[StoredComparison]:
    """Measures a request into a folder of results, which stays locked within the block.

    Raises ``HarnessError``.
    """
    valid = validate(request, output.log)
    claim = folders.claimed(
        request.results,
        valid.labels,
        store=request.store,
        resumable=resumable if request.resume else None,
    )
    message = partial(interruption_message, has_resume=request.resume is not None)
    with claim as folder, shutdown.advice_if_interrupted(folder, message(folder)):
        yield measure(valid, folder, output)


def concurrent_scenarios(
    scenarios: Iterable[Scenario],
    criteria: Iterable[Criterion],
    topology: Topology,
    *,
    is_shard: bool = False,
) -> frozenset[str]:
    """Names the scenarios whose runs may be concurrent, if the baseline's runs prove to idle.

    Two kinds of criteria exclude a scenario. CPU of other programs, if a user's criterion asks for
    it, may be due to any of several concurrent runs. Limits, except of CPU and of counts per
    second, would be kept too easily, as concurrent runs share memory. Runs that start one by one
    (staggered) are not concurrent in a shard, nor with several processes.
    """
    excluding = [
        criterion
        for criterion in criteria
        if (criterion.metric.key.startswith("machine_") and criterion not in DEFAULTS)
        or (
            (limit := criterion.limit)
            and not (criterion.is_limit_of_cpu or (limit.by_second and limit.unit == "/s"))
        )
    ]
    return frozenset(
        scenario.name
        for scenario in scenarios
        if scenario.is_mostly_idle
        # Its ports are fixed.
        and scenario.topology_in(topology).kind != LAUNCHER
        and not (
            scenario.is_staggered and (is_shard or scenario.topology_in(topology).processes > 1)
        )
        and not any(criterion.scope.covers(scenario) for criterion in excluding)
    )


def seconds_left(
    session: Session,
    scenarios: Iterable[Scenario],
    labels: Sequence[str],
    questions: "OpenQuestions",
) -> float:
    """The time, in s, until open scenarios have the rounds after which they may be settled."""
    total_s = 0.0
    for scenario in scenarios:
        record, at_once = session.records[scenario.name], session.concurrent_rounds(scenario)
        if not record.rounds:
            at_once = session.concurrency.most_rounds(scenario, len(labels))
        lacking = session.lacking(record, labels, questions.rule.most_rounds)
        rounds = sorted(lacking)[: questions.rounds_needed(scenario.name)]
        interleaved = sum(len(lacking[number]) for number in rounds)
        is_concurrent = at_once and len(rounds) >= scenario.fewest_concurrent_rounds
        real_s = [run.metrics["time_wall_clock"] for run in record.measurements]
        run_s = max(real_s, default=scenario.expected_s)
        # Concurrent rounds of a batch take as long as one run, and the starts and ends of all.
        runs = math.ceil(len(rounds) / at_once) if is_concurrent else interleaved
        total_s += run_s * runs + turn_s(record) * (interleaved - runs)
    return total_s


@dataclass
class OpenQuestions:
    """Decides, from the runs so far, how many more rounds scenarios need by a stopping rule."""

    rule: StoppingRule
    records: Mapping[str, ScenarioResults]
    elsewhere: Iterable[ScenarioResults] = ()
    _results: object = None
    _unsettled: Mapping[str, int] = field(default_factory=dict)

    def rounds_needed(self, scenario: str) -> int:
        """The number of further rounds by which answers may change, or 1 for an old failed run.

        0 if no answer may change.
        """
        records = tuple(self.records.values())
        results = [(it.measurements[:], len(it.failed_runs), it.warm_ups) for it in records]
        if results != self._results:
            self._unsettled = self.rule.unsettled(records, tuple(self.elsewhere))
            self._results = results
        repeats = self.records[scenario].awaits_repeats
        is_repeated = any(it <= self.rule.most_rounds for it in repeats)
        return self._unsettled.get(scenario, int(is_repeated))
