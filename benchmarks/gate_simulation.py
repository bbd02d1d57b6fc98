r"""Simulates how often the gate fails without a change, and how often it finds a change.

    .bench/venv/bin/python benchmarks/gate_simulation.py [--gates 200] [--machine NAME ...] \
        [--change NAME ...] [--scenario GLOB ...] [--rounds 30] [--jobs 2] [--seed 1]

Each gate is a comparison by the default criteria, in the default scenarios or those named. The real
code schedules, repeats, resumes and judges runs; only their figures are made up. In every fifth
round other programs use the CPU. Every second gate is interrupted after some run, and resumed on a
day on which everything takes longer. ``SPREADS`` has the spread of a metric, the machine the shape
of its distribution. Every run has system calls and system time. Questions about
metrics of worker files alone are not asked. 200 gates of a change on all machines take half an
hour.

A line has the share of each outcome among the gates, the median numbers of rounds and runs, and the
criteria that failed most often.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import cast

import numpy
from numpy.random import Generator

from benchmarks.common import command_line
from waitbench.analysis import criteria
from waitbench.analysis.criteria import Scope
from waitbench.analysis.gate import GateVerdict
from waitbench.engines import selection
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Observer, Session
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.revision import Origin, Revision
from waitbench.model.run import Measurement, PlannedRun
from waitbench.model.scenario import Scenario, Topology
from waitbench.pipeline.comparing import OpenQuestions
from waitbench.pipeline.gating import Gate, last_analysis
from waitbench.pipeline.preparation import resume_record

BASE, NEW = "base", "new"
AT = "2026-01-01T00:00:00+00:00"

CENTRES = {
    "real": 0.5, "system": 0.15, "cpu": 0.25, "idle": 0.06, "idle-system": 0.02,
    "startup": 0.2, "shutdown": 0.03, "latency": 0.03, "latency-p50": 0.02, "rss": 36e6,
    "wakeups": 900.0, "syscalls": 900.0,
}  # fmt: skip
"""The typical value of a metric; 1 for all others."""
SPREADS = {
    "real": 0.03, "system": 0.15, "cpu": 0.05, "idle": 0.10, "idle-system": 0.12,
    "startup": 0.05, "shutdown": 0.2, "latency": 0.2, "latency-p50": 0.2, "rss": 0.01,
    "wakeups": 0.01, "syscalls": 0.01,
}  # fmt: skip
"""The standard deviation of the logarithm of a metric; 0.05 for all others."""
SHARED = 0.7
"""The correlation of the noise of a metric with the noise of the run."""
DISTURBED = 0.2
"""The share of rounds in which other programs use the machine."""
DISTURBED_FACTOR = 1.1
"""The factor by which everything takes longer in these rounds."""
OTHER_DAY_FACTOR = 1.3
"""The same for the day on which an interrupted comparison is resumed."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The distribution of the figures of runs on a machine."""

    noise: Callable[[Generator], float] = lambda random: random.standard_normal()
    """Noise with mean 0 and a standard deviation of 1."""
    slow: tuple[float, float] = (0.0, 1.0)
    """The share of slow runs, and the factor by which they take longer."""
    memory: float = 0.0
    """The correlation of the noise of a run with that of the run before."""
    second: float = 1.0
    """The factor by which the second run of a round takes longer than the first."""
    drift: float = 0.0
    """The standard deviation of the random walk, from run to run, of the logarithm of times."""
    two_valued: float | None = None
    """The ratio of two values, if counts have only these two."""
    steal: float = 0.0
    """The CPU that a hypervisor steals, as a share of the CPU of a run."""


MACHINES = {
    "quiet": Machine(),
    "heavy tails (t3)": Machine(noise=lambda random: random.standard_t(3) / math.sqrt(3)),
    "skewed": Machine(noise=lambda random: random.standard_exponential() - 1),
    "bimodal 10% x3": Machine(slow=(0.1, 3.0)),
    "bimodal 40% x3": Machine(slow=(0.4, 3.0)),
    "bimodal 10% x1.5": Machine(slow=(0.1, 1.5)),
    "bimodal 40% x1.5": Machine(slow=(0.4, 1.5)),
    "AR(1) 0.3": Machine(memory=0.3),
    "AR(1) 0.5": Machine(memory=0.5),
    "order +3%": Machine(second=1.03),
    "drift": Machine(drift=0.02),
    "two-valued counts": Machine(two_valued=1.1),
    "steal 4%": Machine(steal=0.04),
    "steal 10%": Machine(steal=0.10),
}


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of the candidate's costs."""

    factors: Mapping[str, float] = field(default_factory=dict)
    """The factor of a metric."""
    share: float = 1.0
    """The share of runs that change."""
    scope: Scope | None = None
    """The scenarios that change; by default all that wait."""


CHANGES = {
    "nothing": Change(),
    "idle+9%": Change(factors={"idle": 1.09}),
    "idle+11%": Change(factors={"idle": 1.11}),
    "idle+25%": Change(factors={"idle": 1.25}),
    "wakeups+10%": Change(factors={"wakeups": 1.10}),
    "syscalls+10%": Change(factors={"syscalls": 1.10}),
    "idle x15 in 20%": Change(factors={"idle": 15.0}, share=0.2),
    "cpu x10 in 12.5%": Change(factors={"cpu": 10.0}, share=1 / 8),
    "late x10 in 12.5%": Change(factors={"latency": 10.0, "latency-p50": 10.0}, share=1 / 8),
    # The gate allows 20 % of 0.5 s, and 17 % on the slower day.
    "real+17%": Change(factors={"real": 1.17}, scope=Scope.BUSY),
    "real+35%": Change(factors={"real": 1.35}, scope=Scope.BUSY),
    "launcher's system x3": Change(factors={"system": 3.0}, scope=Scope.LARGE_CHANGES),
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a gate."""

    outcome: str
    failed: frozenset[str]
    """The criteria that failed."""
    rounds: int
    """The number of rounds of the scenario with most rounds."""
    runs: int
    """The number of runs of all scenarios."""


class _Interrupted(Exception):
    """The comparison is interrupted."""


@dataclass
class SimulatedMeasurer:
    """Makes up measurements on a machine, with a change of the candidate's."""

    machine: Machine
    change: Change
    random: Generator
    interrupted_at: int
    """The number of the run before which the comparison is interrupted; 0 for never."""
    runs: int = 0
    _last: float = 0.0
    _speed: float = 0.0
    _is_disturbed: bool = False

    def measure(self, planned: PlannedRun) -> list[Measurement]:
        self.runs += 1
        if self.runs == self.interrupted_at:
            self._speed += math.log(OTHER_DAY_FACTOR)
            raise _Interrupted
        others = self._others(planned)
        shared = self._shared_noise()
        slower = self._slower(planned) * (DISTURBED_FACTOR if others else 1.0)
        metrics = {
            metric.key: self._value(metric, shared, slower) for metric in _metrics_of(planned)
        }
        self._apply(planned, metrics)
        jitter = math.exp(0.5 * self.random.standard_normal() - 0.125)
        metrics["machine_steal"] = self.machine.steal * metrics["time_cpu"] * jitter
        metrics["machine_foreign_cpu"] = others * metrics["time_wall_clock"]
        run = Measurement(
            label=planned.label,
            round=planned.round,
            position=planned.position,
            started_at=AT,
            metrics=metrics,
        )
        return [run]

    def _others(self, planned: PlannedRun) -> float:
        """The cores that other programs use, chosen for each attempt at a round."""
        if planned.position == 0:
            self._is_disturbed = self.random.random() < DISTURBED
        return 0.5 if self._is_disturbed else 0.0

    def _shared_noise(self) -> float:
        memory = self.machine.memory
        own = self.machine.noise(self.random)
        self._last = memory * self._last + math.sqrt(1 - memory**2) * own
        return self._last

    def _slower(self, planned: PlannedRun) -> float:
        share, factor = self.machine.slow
        self._speed += self.machine.drift * self.random.standard_normal()
        slower = math.exp(self._speed) * self.machine.second**planned.position
        return slower * (factor if self.random.random() < share else 1.0)

    def _value(self, metric: Metric, shared: float, slower: float) -> float:
        centre = CENTRES.get(metric.name, 1.0)
        if metric.unit == "count" and self.machine.two_valued is not None:
            return centre * (self.machine.two_valued if self.random.random() < 0.3 else 1.0)
        own = self.machine.noise(self.random)
        noise = SHARED * shared + math.sqrt(1 - SHARED**2) * own
        value = centre * math.exp(SPREADS.get(metric.name, 0.05) * noise)
        return value * slower if metric.unit == "second" else value

    def _apply(self, planned: PlannedRun, metrics: dict[str, float]) -> None:
        change = self.change
        scope = change.scope
        is_changed = scope.covers(planned.scenario) if scope else planned.scenario.waits
        if planned.label != NEW or not is_changed:
            return
        if self.random.random() >= change.share:
            return
        idle = metrics["time_cpu_idle"]
        for name, factor in change.factors.items():
            metrics[BY_NAME[name].key] *= factor
        metrics["time_cpu"] += metrics["time_cpu_idle"] - idle


class _SilentObserver:
    """An observer that ignores all calls."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_arguments: None


ASKED = {criterion.metric.name for criterion in criteria.DEFAULTS}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--machine", action="append", choices=list(MACHINES))
    parser.add_argument("--change", action="append", choices=list(CHANGES))
    parser.add_argument("--scenario", action="append", default=[], metavar="GLOB")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scenarios = selection.select(options.scenario, (), quick=True, for_gate=True)
    seeds = range(options.seed * 1_000_000, options.seed * 1_000_000 + options.gates)
    print(f"{options.gates} gates each, at most {options.rounds} rounds, seed {options.seed}")
    with ProcessPoolExecutor(options.jobs) as pool:
        for change in options.change or CHANGES:
            print(f"\n{change}")
            for machine in options.machine or MACHINES:
                simulate = partial(carry_out, scenarios, machine, change, options.rounds)
                results = list(pool.map(simulate, seeds, chunksize=5))
                print(f"  {machine:18} {line_of(results)}", flush=True)


def carry_out(
    scenarios: Sequence[Scenario], machine: str, change: str, most_rounds: int, seed: int
) -> Result:
    """Carries out a gate, which is interrupted and resumed if the seed is odd."""
    random = numpy.random.default_rng(seed)
    measurer = SimulatedMeasurer(
        machine=MACHINES[machine],
        change=CHANGES[change],
        random=random,
        interrupted_at=int(random.integers(5, 60)) if seed % 2 else 0,
    )
    gate = Gate(criteria=criteria.DEFAULTS, most_rounds=last_analysis(most_rounds))
    records = _new_records(scenarios)
    try:
        _measure(gate, measurer, scenarios, records)
    except _Interrupted:
        before, records = records, _new_records(scenarios)
        for name, record in before.items():
            resume_record(records[name], record)
        _measure(gate, measurer, scenarios, records)
    return _result(gate.conclude(records.values()), records, measurer.runs)


def _measure(
    gate: Gate,
    measurer: SimulatedMeasurer,
    scenarios: Sequence[Scenario],
    records: Mapping[str, ScenarioResults],
) -> None:
    observer = _SilentObserver()
    session = Session(cast(Measurer, measurer), records, cast(Observer, observer), observer.save)
    asking, groups = OpenQuestions(gate, records), gate.groups(scenarios)
    session.carry_out(asking.rounds_needed, groups, (BASE, NEW), gate.most_rounds)


def _result(verdict: GateVerdict, records: Mapping[str, ScenarioResults], runs: int) -> Result:
    return Result(
        outcome=verdict.outcome.value,
        failed=frozenset(str(judgement.criterion) for judgement in verdict.failures),
        rounds=max(len(record.of(BASE)) for record in records.values()),
        runs=runs,
    )


def _new_records(scenarios: Sequence[Scenario]) -> dict[str, ScenarioResults]:
    context = ComparisonHeader(
        revisions=tuple(
            Revision(label=label, text=label, origin=Origin.WHEEL, engine="bytewax")
            for label in (BASE, NEW)
        ),
        topology=Topology("single"),
        mixed_origins=False,
        hyperfine_version="",
        machine={},
        started_at=AT,
        argv=(),
    )
    return {
        scenario.name: ScenarioResults(spec=scenario, context=context) for scenario in scenarios
    }


def _metrics_of(planned: PlannedRun) -> Iterator[Metric]:
    """The metrics of the scenario that the default criteria judge."""
    return (metric for metric in planned.scenario.metrics if metric.name in ASKED)


def line_of(results: list[Result]) -> str:
    """The line on the results of gates."""
    outcomes = Counter(result.outcome for result in results)
    shares = ", ".join(f"{n / len(results):.1%} {name}" for name, n in outcomes.most_common())
    times = f"median {median(result.rounds for result in results):g} rounds, "
    times += f"{median(result.runs for result in results):g} runs"
    failed = Counter(name for result in results for name in result.failed)
    by = ", ".join(f"{name} {n}" for name, n in failed.most_common(3))
    return f"{shares}; {times}" + (f"; by {by}" if by else "")


if __name__ == "__main__":
    main()
