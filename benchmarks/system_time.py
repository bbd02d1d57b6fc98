r"""What waiting costs, by each way of knowing it: how much each varies, and what it costs itself.

    .bench/venv/bin/python benchmarks/system_time.py [--revision v0.21.1] [--runs 20] \
        [--chart FILE]

One revision runs what mostly waits, quick length: in one process, and in two. In each round it is
timed alone; timed after an instrumented run, as the gate does it; timed with the instruments in
it, as nobody does it; and traced, where that is possible here. Printed are the mean and coefficient
of variation of each metric, and what each way adds to the CPU of a run, paired, with its interval.
Kept output: docs/trials/system-time.txt, and the chart of docs/system-time.md.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean, median, stdev

from benchmarks.common import command_line
from benchmarks.preparing import ready
from waitbench.analysis.statistics import geometric_mean, log_ratios
from waitbench.execution import tracing
from waitbench.execution.accounting import merged
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.measure import Measurer
from waitbench.execution.plan import in_turn
from waitbench.model.errors import HarnessError
from waitbench.model.instruments import Instruments
from waitbench.model.metrics import BY_NAME
from waitbench.model.run import DISTURBED, STEADY, Measurement, Outcome, PlannedRun
from waitbench.model.scenario import Scenario
from waitbench.system.tracer import find_tracer

SETUPS = tuple(
    (number, name) for number in (1, 2) for name in ("partitioned-long-input", "dynamic-long-input")
)
"""Processes, and the scenario."""
ALONE, BESIDE, WITHIN = "timed alone", "timed after an instrumented run", "instrumented throughout"
MOST_TRIES = 5
"""Runs that are made again when the machine did something else meanwhile, each so often."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What one revision did in one scenario, by each way of observing it."""

    title: str
    timed: dict[str, list[Measurement]] = field(default_factory=dict)
    """By how it was observed; in order of rounds."""
    traced_s: list[float] = field(default_factory=list)
    """Steady system time by an exact trace, in seconds."""

    def ways(self) -> Iterator[tuple[str, list[float]]]:
        """Each way of knowing something, and what each run gave."""
        for name in ("system", "steady-system"):
            yield f"{BY_NAME[name].title}, by ticks", self._values(ALONE, name)
        yield "steady system time, sampled", self._values(BESIDE, "steady-system")
        yield "steady system time, exact trace", self.traced_s
        yield "its share of steady CPU, by ticks", self._shares(ALONE)
        yield "its share of steady CPU, sampled", self._shares(BESIDE)
        for name in ("cpu", "steady", "wakeups", "syscalls", "polls"):
            yield BY_NAME[name].title, self._values(BESIDE, name)

    def _shares(self, way: str) -> list[float]:
        system, steady = (self._values(way, name) for name in ("steady-system", "steady"))
        return [part / whole for part, whole in zip(system, steady, strict=True)]

    def _values(self, way: str, name: str) -> list[float]:
        key = BY_NAME[name].key
        return [run.metrics[key] for run in self.timed[way] if key in run.metrics]


class AlwaysInstrumented(Bench):
    """A bench on which every run is instrumented, also those that time is taken from."""

    @contextmanager
    def prepare(
        self, scenario: Scenario, label: str, *, instrumented: bool = True
    ) -> Iterator[ReadyRun]:
        with super().prepare(scenario, label, instrumented=True) as ready:
            yield ready


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--revision", default="v0.21.1")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--chart", type=Path, metavar="FILE")
    options = parser.parse_args()
    setups = []
    for processes, scenario in SETUPS:
        setups.append(observe(options.revision, processes, scenario, options.runs))
        print("\n".join(lines_of(setups[-1])), flush=True)
    if options.chart:
        draw(setups, options.chart)


def observe(revision: str, processes: int, scenario_name: str, rounds: int) -> Setup:
    """Makes all runs of one scenario."""
    prepared = ready((revision,), processes, scenario_name)
    (scenario,), (label,) = prepared.request.scenarios, prepared.labels
    found = Setup(
        title=f"{scenario.name}, {prepared.request.topology}, {rounds} runs each, {label}",
        timed={ALONE: [], BESIDE: [], WITHIN: []},
    )
    measurer = prepared.measurer()
    bench = measurer.bench
    alone = replace(measurer, bench=replace(bench, instruments=Instruments()))
    within = replace(measurer, bench=AlwaysInstrumented(**vars(bench)))

    def trace(number: int) -> None:
        if find_tracer().reason:
            return
        spent_s = traced_s(bench, scenario, label)
        if number > 0:
            found.traced_s.append(spent_s)

    def timed(way: str, made: Callable[[int], Measurement]) -> Callable[[int], None]:
        def make(number: int) -> None:
            run = made(number)
            if number > 0:  # before that it is a warm-up
                found.timed[way].append(run)

        return make

    ways = (
        timed(ALONE, lambda number: measure(alone, scenario, label, number)),
        timed(BESIDE, lambda number: measure_beside(measurer, scenario, label, number)),
        timed(WITHIN, lambda number: measure(within, scenario, label, number)),
        trace,
    )
    for number in range(rounds + 1):
        for way in in_turn(ways, number):
            way(number)
    return found


def traced_s(bench: Bench, scenario: Scenario, label: str) -> float:
    """The steady system time of one run by an exact trace, in seconds.

    A trace sees the time between the first and the last thing that the kernel does in a call. To
    each call belongs the way in and out, which is what an almost empty one takes. A trace that
    fails is made again; exits where it always does.
    """
    for _ in range(MOST_TRIES):
        try:
            seen = tracing.record(scenario, label, bench)
            break
        except HarnessError as error:
            print(f"one more trace, as one failed: {error}", file=sys.stderr)
    else:
        sys.exit("There is no trace.")
    steady = [made for (phase, _), made in seen.calls.items() if phase == STEADY]
    return sum(made.cpu_s + made.count * empty_call_s() for made in steady)


@cache
def empty_call_s(times: int = 1_000_000) -> float:
    """The CPU seconds of the least that a system call can be, here, without a trace."""

    def spent_s(function: Callable[[], int]) -> float:
        begun = time.process_time()
        for _ in range(times):
            function()
        return (time.process_time() - begun) / times

    pairs = [(spent_s(os.getppid), spent_s(sys.getrecursionlimit)) for _ in range(5)]
    return median(call_s - no_call_s for call_s, no_call_s in pairs)


def measure_beside(measurer: Measurer, scenario: Scenario, label: str, number: int) -> Measurement:
    """A timed run with what an instrumented run before it gives, as the gate has it."""
    seen = measure(measurer, scenario, label, number, instrumented=True)
    return merged(measure(measurer, scenario, label, number), seen)


def measure(
    measurer: Measurer, scenario: Scenario, label: str, number: int, *, instrumented: bool = False
) -> Measurement:
    """One run that nothing disturbed, or the last of ``MOST_TRIES``. Exits where it fails."""
    planned = PlannedRun(
        scenario=scenario, label=label, round=number, position=0, instrumented=instrumented
    )
    for attempt in range(1, MOST_TRIES + 1):
        result = measurer.measure(planned)
        if isinstance(result, Outcome):
            sys.exit(f"The run failed: {result.message}")
        if DISTURBED not in result.marks or attempt == MOST_TRIES:
            return result
    raise AssertionError  # the last attempt is returned


def lines_of(setup: Setup) -> list[str]:
    """A line for each way, and for what each adds to the CPU of a run."""
    lines = [setup.title]
    for way, values in setup.ways():
        said = f"{fmean(values):>10,.4g} ±{variation(values):.1%}" if values else "not here"
        lines.append(f"  {way:<34} {said}")
    for way in (BESIDE, WITHIN):
        for name in ("cpu", "steady"):
            metric = BY_NAME[name]
            pairs = [
                (off.metrics[metric.key], on.metrics[metric.key])
                for off, on in zip(setup.timed[ALONE], setup.timed[way], strict=True)
            ]
            added = geometric_mean(log_ratios(pairs, metric))
            lines.append(
                f"  {way} adds to {metric.title}: {added.value - 1:+.1%} "
                f"(95 % CI {(added.low or 1) - 1:+.1%} to {(added.high or 1) - 1:+.1%})"
            )
    return lines


def variation(values: Sequence[float]) -> float:
    """The coefficient of variation."""
    return stdev(values) / fmean(values)


def draw(setups: Sequence[Setup], path: Path) -> None:
    """Draws how much each way varies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots()
    names = [name for name, _ in setups[0].ways()]
    height = 0.8 / len(setups)
    for place, setup in enumerate(setups):
        known = [(at, values) for at, (_, values) in enumerate(setup.ways()) if values]
        bars = axes.barh(
            [at + (place - (len(setups) - 1) / 2) * height for at, _ in known],
            [variation(values) * 100 for _, values in known],
            height,
            label=", ".join(setup.title.split(", ")[:2]),
        )
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("variation from run to run, % (one standard deviation)")
    axes.set_title("How well each way of knowing what waiting costs is repeated")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
