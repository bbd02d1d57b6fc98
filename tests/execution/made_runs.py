"""Sessions that measure nothing: what becomes of each run is made up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from tests.records import context, measurement, outcome, specify, times
from waitbench.execution.concurrency import Concurrency
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.record import ScenarioResults
from waitbench.model.run import PlannedRun, Result
from waitbench.model.scenario import Scenario
from waitbench.pipeline.comparing import FixedRounds, OpenQuestions

LASTS_S = 10.0
NOTHING_CONCURRENT = Concurrency()
QUIET = {**times(1, 1, 0), "machine_foreign_cpu": 0.0, "machine_steal": 0.0}
IDLE, WORKING, BUSY = 0.05, 0.9, 1.9
"""Of two CPUs."""
Behaviour = Callable[[PlannedRun, int], Result]
"""What comes of a run: it is told the run, and how often the same was made before."""


class MadeUp(Scenario, frozen=True, kw_only=True):
    """A scenario that lasts so long."""

    @property
    def expected_s(self) -> float:
        return LASTS_S

    @property
    def window_s(self) -> float:
        return float(self.parameters.get("window", 0.0))


class MadeUpCommand(MadeUp, frozen=True, kw_only=True):
    """A scenario of a worker file."""

    is_staggered: ClassVar[bool] = True


class MadeUpWithServices(MadeUpCommand, frozen=True, kw_only=True):
    """A scenario of a worker file with services."""

    services: ClassVar[int] = 1


def scenario(name: str) -> Scenario:
    """A scenario of a dataflow that shows large changes only, as the silence does."""
    return MadeUp(name=name, large_changes_only=True)


def good(planned: PlannedRun, _before: int = 0) -> Result:
    return measurement(planned.label, planned.round, times(1, 1, 0), position=planned.position)


def disturbed(planned: PlannedRun) -> Result:
    metrics = {**times(1, 1, 0), "machine_foreign_cpu": 0.7, "machine_steal": 0.1}
    return measurement(planned.label, planned.round, metrics)


def failing(reason: str) -> Behaviour:
    return lambda planned, _before: outcome(planned.label, planned.round, reason)


@dataclass
class Made:
    """A measurer that measures nothing, and an observer that writes down what it is told."""

    behave: Behaviour = good
    clock: Callable[[], None] = lambda: None
    runs: list[tuple[str, int, str]] = field(default_factory=list)
    events: list[tuple[str, Any]] = field(default_factory=list)

    def measure(
        self, *planned: PlannedRun, turns_s: Sequence[float] = (), lanes: int = 1
    ) -> list[Result]:
        return [self.make(run) for run in planned]

    def prefault(self, size: int) -> None:
        self.events.append(("prefault", size))

    def make(self, planned: PlannedRun) -> Result:
        made = (planned.scenario.name, planned.round, planned.label)
        self.clock()
        self.runs.append(made)
        return self.behave(planned, self.runs.count(made) - 1)

    def repeat(self, runs: Sequence[PlannedRun]) -> None:
        self.events.append(("repeat", runs[0].round))

    def begin(self, planned: PlannedRun) -> None:
        self.events.append(("begin", planned.label))

    def end(self, planned: PlannedRun, _result: Result) -> None:
        self.events.append(("end", planned.label))

    def end_rounds(self, runs: Sequence[PlannedRun]) -> None:
        self.events.append(("end rounds", runs[-1].round))

    def keep(self, record: ScenarioResults, result: Result) -> None:
        self.events.append(("keep", (record.scenario, result)))

    def session(
        self, records: dict[str, ScenarioResults], concurrency: Concurrency = NOTHING_CONCURRENT
    ) -> Session:
        return Session(cast(Measurer, self), records, self, self.keep, concurrency)

    def heard(self, what: str) -> list[Any]:
        return [value for name, value in self.events if name == what]


@dataclass
class Together(Made):
    """Writes down which runs were made at once."""

    at_once: list[list[tuple[int, str]]] = field(default_factory=list)
    alone_s: list[Sequence[float]] = field(default_factory=list)

    beside: int = 1
    """How many runs take place now."""

    lanes: int = 1
    """In how many lanes the latest concurrent runs started."""

    def measure(
        self, *planned: PlannedRun, turns_s: Sequence[float] = (), lanes: int = 1
    ) -> list[Result]:
        if len(planned) > 1:
            self.lanes = lanes
            self.alone_s.append(turns_s)
            self.at_once.append([(run.round, run.label) for run in planned])
        self.beside = len(planned)
        return super().measure(*planned)


def giving(metrics: Callable[[PlannedRun], Mapping[str, float]]) -> Together:
    """What measures runs that idle, with these metrics besides."""

    def run(planned: PlannedRun, _before: int) -> Result:
        given = {**QUIET, "cpu_share_idle": IDLE, **metrics(planned)}
        return measurement(planned.label, planned.round, given, position=planned.position)

    return Together(run)


def using(a: float = IDLE, b: float = IDLE) -> Together:
    """What measures runs of which each revision uses so many cores in its window."""
    return giving(lambda run: {"cpu_share_idle": {"a": a, "b": b}[run.label]})


def make_session(
    made: Made, *names: str, concurrency: Concurrency = NOTHING_CONCURRENT
) -> tuple[Session, list[Scenario], dict[str, ScenarioResults]]:
    chosen = [scenario(name) for name in names]
    records = {it.name: ScenarioResults(spec=it, context=context(["a", "b"])) for it in chosen}
    return made.session(records, concurrency), chosen, records


def carry_out(
    made: Made, rounds: int, *names: str, concurrency: Concurrency = NOTHING_CONCURRENT
) -> dict[str, ScenarioResults]:
    at_work, chosen, records = make_session(made, *names, concurrency=concurrency)
    make_rounds(at_work, chosen, rounds)
    return records


def make_rounds(session: Session, scenarios: Sequence[Scenario], rounds: int) -> None:
    """Makes so many rounds, as a comparison without a gate does."""
    session.concurrency = replace(session.concurrency, is_adaptive=False)
    rule = FixedRounds(rounds)
    needed = OpenQuestions(rule, session.records).rounds_needed
    session.carry_out(needed, rule.groups(scenarios), ["a", "b"], rounds)


Settled = Callable[[ScenarioResults], bool]
"""Whether a scenario needs no more rounds, by its record so far."""


def run_until(
    made: Made, settled: Settled, most_rounds: int, budget_s: float, *groups: Sequence[str]
) -> dict[str, ScenarioResults]:
    names = [name for group in groups for name in group]
    at_work, chosen, records = make_session(made, *names)
    by_name = {it.name: it for it in chosen}
    in_groups = [[by_name[name] for name in group] for group in groups]
    at_work.carry_out(
        lambda name: 0 if settled(records[name]) else most_rounds,
        in_groups,
        ["a", "b"],
        most_rounds,
        budget_s,
    )
    return records


ONE = Concurrency(("one",))
WORKER_FILE = MadeUpCommand(name="one", parameters={"window": 6.0})


def measured(
    made: Made,
    scenario: Scenario = WORKER_FILE,
    *,
    rounds: int = 9,
    budget_s: float = 1e9,
    guided: bool = True,
    before: Sequence[Result] = (),
    differing: Callable[[ScenarioResults], str] = lambda _record: "",
    needed: int = 99,
    enough: int = 8,
    may_skip_turn: bool = False,
) -> ScenarioResults:
    """Rounds after those of ``before`` a resume: until there are ``enough``, or as planned."""
    allowed = Concurrency(("one",), differing, may_skip_turn=may_skip_turn)
    at_work, _, records = make_session(made, "one", concurrency=allowed)
    record = records["one"]
    specify(record, waits=True, large_changes_only=scenario.large_changes_only)
    for result in before:
        record.add(result)
    record.failed_before = len(record.failed_runs)
    if guided:
        at_work.carry_out(
            lambda _name: needed * (len(record.of("a")) < enough),
            [[scenario]],
            ["a", "b"],
            rounds,
            budget_s,
        )
    else:
        make_rounds(at_work, [scenario], rounds)
    return record


def concurrent_rounds(made: Together) -> list[list[int]]:
    return [[number for number, label in runs if label == "a"] for runs in made.at_once]
