r"""How often the gate fails when nothing changed, and finds what did: on machines that are made up.

    .bench/venv/bin/python benchmarks/gate_simulation.py [--gates 200] [--machine NAME ...] \
        [--change NAME ...] [--scenario GLOB ...] [--rounds 30] [--jobs 2] [--seed 1]

Each gate is one comparison by the default criteria, in the default scenarios or those named. It is
guided, repeated, resumed and judged by the code that does so for real; only what a run measures is
made up. In every fifth round other programs use the CPU, and every second gate is interrupted after
some run and resumed on a day on which all takes longer. How much a metric scatters is in
``SPREADS``; how, is the machine's. Instruments are left out: system calls and system time come with
every run.

A line says what share of the gates had which outcome, after how many rounds in the median, and
which criteria failed most often.
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
"""What a run measures, by metric; others 1."""
SPREADS = {
    "real": 0.03, "system": 0.15, "cpu": 0.05, "idle": 0.10, "idle-system": 0.12,
    "startup": 0.05, "shutdown": 0.2, "latency": 0.2, "latency-p50": 0.2, "rss": 0.01,
    "wakeups": 0.01, "syscalls": 0.01,
}  # fmt: skip
"""Standard deviation of the logarithm of what a run measures, by metric; others 0.05."""
SHARED = 0.7
"""Correlation of a figure's noise with that of the run."""
DISTURBED = 0.2
"""The share of rounds in which others use the machine."""
DISTURBED_TAKES = 1.1
"""How many times as long everything takes while others use the machine."""
OTHER_DAY = 1.3
"""The same for the day on which an interrupted comparison is resumed."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """How runs scatter on it."""

    noise: Callable[[Generator], float] = lambda random: random.standard_normal()
    """With mean 0 and a standard deviation of 1."""
    slow: tuple[float, float] = (0.0, 1.0)
    """The share of runs that are slow, and how many times as long they take."""
    memory: float = 0.0
    """Correlation of a run's noise with that of the run before it."""
    second: float = 1.0
    """How many times as long the second run of a round takes as the first."""
    drift: float = 0.0
    """Standard deviation of what is added to the logarithm of all times from run to run."""
    two_valued: float | None = None
    """The ratio of the two values that a count has, where it has only two."""
    steal: float = 0.0
    """What a hypervisor takes, as a share of the CPU that a run uses."""


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
    """What the candidate does."""

    factors: Mapping[str, float] = field(default_factory=dict)
    """By metric, how many times as much."""
    share: float = 1.0
    """Of the runs."""
    scope: Scope | None = None
    """Of the scenarios: by default those that wait, whether or not they work, too."""


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
    # What is allowed: 20 % of 0.5 s, and 17 % on the slower day.
    "real+17%": Change(factors={"real": 1.17}, scope=Scope.BUSY),
    "real+35%": Change(factors={"real": 1.35}, scope=Scope.BUSY),
    "launcher's system x3": Change(factors={"system": 3.0}, scope=Scope.LARGE_CHANGES),
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one gate came to."""

    outcome: str
    failed: frozenset[str]
    """The criteria that did."""
    rounds: int
    """The most of any scenario."""
    runs: int
    """All that were made."""


class _Interrupted(Exception):
    """Somebody ended the comparison."""


@dataclass
class MadeUp:
    """What measures nothing: figures of a machine, with a change in the candidate's."""

    machine: Machine
    change: Change
    random: Generator
    interrupted_at: int
    """The run before which it is interrupted; 0 for never."""
    runs: int = 0
    _last: float = 0.0
    _speed: float = 0.0
    _is_disturbed: bool = False

    def measure(self, planned: PlannedRun) -> list[Measurement]:
        self.runs += 1
        if self.runs == self.interrupted_at:
            self._speed += math.log(OTHER_DAY)
            raise _Interrupted
        others = self._others(planned)
        shared = self._shared_noise()
        slower = self._slower(planned) * (DISTURBED_TAKES if others else 1.0)
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
        """CPUs that others use: of a round as a whole, and of each attempt at it anew."""
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


class _Nobody:
    """An observer that looks away."""

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
                found = list(pool.map(simulate, seeds, chunksize=5))
                print(f"  {machine:18} {line_of(found)}", flush=True)


def carry_out(
    scenarios: Sequence[Scenario], machine: str, change: str, most_rounds: int, seed: int
) -> Result:
    """One gate, interrupted and resumed if the seed is odd."""
    random = numpy.random.default_rng(seed)
    measurer = MadeUp(
        machine=MACHINES[machine],
        change=CHANGES[change],
        random=random,
        interrupted_at=int(random.integers(5, 60)) if seed % 2 else 0,
    )
    gate = Gate(criteria=criteria.DEFAULTS, most_rounds=last_analysis(most_rounds))
    records = _new_records(scenarios)
    try:
        _go_through(gate, measurer, scenarios, records)
    except _Interrupted:
        before, records = records, _new_records(scenarios)
        for name, record in before.items():
            resume_record(records[name], record)
        _go_through(gate, measurer, scenarios, records)
    return _result(gate.conclude(records.values()), records, measurer.runs)


def _go_through(
    gate: Gate,
    measurer: MadeUp,
    scenarios: Sequence[Scenario],
    records: Mapping[str, ScenarioResults],
) -> None:
    nobody = _Nobody()
    session = Session(cast(Measurer, measurer), records, cast(Observer, nobody), nobody.save)
    wants_more = OpenQuestions(gate, records).wants_more
    groups = gate.groups(scenarios)
    session.carry_out_while(wants_more, groups, (BASE, NEW), gate.most_rounds, math.inf)


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
    """What the default criteria are about, as far as the scenario has it."""
    return (metric for metric in planned.scenario.metrics if metric.name in ASKED)


def line_of(results: list[Result]) -> str:
    """What the gates came to."""
    outcomes = Counter(result.outcome for result in results)
    said = ", ".join(f"{n / len(results):.1%} {what}" for what, n in outcomes.most_common())
    times = f"median {median(result.rounds for result in results):g} rounds, "
    times += f"{median(result.runs for result in results):g} runs"
    failed = Counter(name for result in results for name in result.failed)
    by = ", ".join(f"{name} {n}" for name, n in failed.most_common(3))
    return f"{said}; {times}" + (f"; by {by}" if by else "")


if __name__ == "__main__":
    main()
