"""Measures a request, and saves each run in a folder of results."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.gate import is_too_disturbed
from waitbench.analysis.rounds import metric_changed_by_concurrency
from waitbench.execution import plan
from waitbench.execution.concurrency import Concurrency
from waitbench.execution.hyperfine import locate
from waitbench.execution.session import Session
from waitbench.model.metrics import CHANGED_BY_SHARING
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import Environment
from waitbench.model.scenario import Scenario, Topology
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
from waitbench.reporting.output import Output, RunProgress
from waitbench.store import comparisons, folders
from waitbench.store.comparisons import StoredComparison
from waitbench.system import shutdown


class StoppingRule(Protocol):
    """Decides when the rounds of a comparison suffice: a gate, or a step of a search."""

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
        """Maps scenarios to the number of further rounds until an answer may change.

        The records of ``elsewhere`` have no runs, as other machines measure these scenarios.
        """


def measure(
    valid: ValidRequest, folder: Path, output: Output, rule: StoppingRule | None = None
) -> StoredComparison:
    """Makes environments, then the runs that a folder lacks; saves each run before the next begins.

    The rule is by default the gate of the request. Without a rule or a gate, each scenario gets the
    requested number of rounds. Raises ``HarnessError``.
    """
    request = valid.request
    hyperfine = locate(valid.cache, output.log.about)
    built = build(valid, output)
    environments = {label: it for label, it in built.items() if isinstance(it, Environment)}
    if rule is None and valid.gate.is_on:
        rule = valid.gate
    settings = {
        "time_limit_s": request.time_limit_s,
        "instruments": sorted(valid.instruments.keys),
        **({} if request.worker is None else {"worker": dict(request.worker.texts)}),
        "rounds": None if rule else request.rounds,
        "gate": rule if isinstance(rule, Gate) else None,
    }
    header = make_header(valid, environments, hyperfine, settings)
    records = new_records(header, valid.scenarios_here, built)
    contents = begin(folder, header, records, output.progress.print)
    criteria = rule.criteria if rule else ()
    # Concurrent runs share pages, and may answer each other's messages: these costs may change.
    sensitive = [criterion for criterion in criteria if criterion.metric.name in CHANGED_BY_SHARING]
    progress = RunProgress(output.progress, quiet=output.quiet)
    session = Session(
        measurer(valid, environments, hyperfine, criteria),
        records,
        progress,
        partial(comparisons.append, folder),
        Concurrency(
            concurrent_scenarios(
                valid.scenarios_here, criteria, valid.topology, is_shard=valid.shard is not None
            ),
            partial(metric_changed_by_concurrency, criteria=sensitive),
        ),
    )
    try:
        with progress:
            scenarios_elsewhere = [it for it in valid.scenarios if it not in valid.scenarios_here]
            elsewhere = new_records(header, scenarios_elsewhere, built)
            if environments:
                _make_runs(session, valid, tuple(environments), rule, progress, elsewhere.values())
            for extension in request.extensions:
                extension.after_runs(valid, session.measurer.bench, folder, progress)
    except shutdown.Interrupted:
        print_so_far(contents, output)
        comparisons.export(folder, contents.records)
        raise
    require_unchanged(valid, environments)
    comparisons.finish(folder, contents.records)
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
    it, may be due to any of several concurrent runs. Limits, except of counts per second, would be
    kept too easily, as concurrent runs share memory and caches. Runs that start one by one
    (staggered) are not concurrent in a shard, nor with several processes.
    """
    excluding = [
        criterion
        for criterion in criteria
        if (criterion.metric.key.startswith("machine_") and criterion not in DEFAULTS)
        or (criterion.limit and not (criterion.limit.by_second and criterion.limit.unit == "/s"))
    ]
    return frozenset(
        scenario.name
        for scenario in scenarios
        if scenario.is_mostly_idle
        and not (
            scenario.is_staggered and (is_shard or scenario.topology_in(topology).processes > 1)
        )
        and not any(criterion.scope.covers(scenario) for criterion in excluding)
    )


def _make_runs(
    session: Session,
    valid: ValidRequest,
    labels: Sequence[str],
    rule: StoppingRule | None,
    progress: RunProgress,
    elsewhere: Iterable[ScenarioResults],
) -> None:
    """Makes the runs that the records lack: those that the rule wants, or the requested rounds."""
    records = session.records
    if rule is not None:
        questions = OpenQuestions(rule, records, elsewhere)
        wants_more, needed = questions.wants_more, questions.rounds_needed
        forecast = partial(seconds_left, session, valid.scenarios_here, labels, questions)
        progress.expect(rule.budget_s, forecast)
        groups = rule.groups(valid.scenarios_here)
        session.carry_out_while(wants_more, groups, labels, rule.most_rounds, rule.budget_s, needed)
        return
    done = {
        (record.scenario, run.label, run.round)
        for record in records.values()
        for run in record.measurements
    }
    runs = plan.schedule(valid.scenarios_here, labels, valid.request.rounds, done, session.seed)
    session.carry_out(runs)


def seconds_left(
    session: Session,
    scenarios: Iterable[Scenario],
    labels: Sequence[str],
    questions: "OpenQuestions",
) -> float:
    """The time, in s, until open scenarios have the rounds after which they may be settled."""
    total_s = 0.0
    for scenario in (it for it in scenarios if questions.wants_more(it.name)):
        rounds_left = questions.rounds_needed(scenario.name)
        at_once = session.concurrent_rounds(scenario)
        if (
            not session.records[scenario.name].rounds
            and scenario.name in session.concurrency.scenarios
        ):
            at_once = scenario.most_concurrent_rounds
        # All concurrent rounds of a batch take as long as one run.
        runs = math.ceil(rounds_left / at_once) if at_once else rounds_left * len(labels)
        total_s += scenario.expected_s * runs
    return total_s


@dataclass
class OpenQuestions:
    """Decides, from the runs so far, which scenarios need more rounds by a stopping rule."""

    rule: StoppingRule
    records: Mapping[str, ScenarioResults]
    elsewhere: Iterable[ScenarioResults] = ()
    _results: object = None
    _unsettled: Mapping[str, int] = field(default_factory=dict)

    def wants_more(self, scenario: str) -> bool:
        """Whether an answer may change, or an old failed run is due; false if too disturbed."""
        records = tuple(self.records.values())
        if is_too_disturbed(records):
            return False
        results = [(list(record.measurements), len(record.failed_runs)) for record in records]
        if results != self._results:
            self._unsettled = self.rule.unsettled(records, tuple(self.elsewhere))
            self._results = results
        repeats = self.records[scenario].awaits_repeats
        return scenario in self._unsettled or any(it <= self.rule.most_rounds for it in repeats)

    def rounds_needed(self, scenario: str) -> int:
        """The number of further rounds until an answer may change; 1 for repeated rounds."""
        return self._unsettled.get(scenario, 1)
