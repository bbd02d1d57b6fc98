r"""What waiting costs, by each way of knowing it: how much each varies, and what counting adds.

    .bench/venv/bin/python benchmarks/system_time.py v0.21.1 [--runs 20] [--processes 1]

The same revision runs a scenario that waits, quick length, in turn with and without its system
calls counted. Printed are the coefficient of variation of each metric from run to run, and the CPU
that counting adds: the ratio of the runs with it to those without, paired, with its interval.
Kept output: docs/trials/system-time.txt.
"""

import statistics
import sys
from dataclasses import replace

from rich.console import Console

from benchmarks.common import command_line
from waitbench.analysis.statistics import geometric_mean, log_ratios
from waitbench.cli.preparation import prepare
from waitbench.cli.request import Request, validate
from waitbench.execution.guard import Guard
from waitbench.execution.measure import Measurer
from waitbench.execution.plan import in_turn
from waitbench.model.environment import OriginChoice
from waitbench.model.metrics import BY_NAME
from waitbench.model.run import DISTURBED, Measurement, Outcome, PlannedRun
from waitbench.model.scenario import Scenario
from waitbench.reporting.progress import PreparationLog

SHOWN = ("system", "cpu", "steady", "wakeups", "syscalls", "polls")
MOST_TRIES = 5
"""Runs that are made again when the machine did something else meanwhile, each so often."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("revision")
    parser.add_argument("--scenario", default="partitioned-long-input")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    request = Request(
        revisions=(options.revision,),
        scenarios=(options.scenario,),
        settings=(),
        topology=None,
        processes=options.processes,
        workers=1,
        origin=OriginChoice.AUTO,
        python=None,
        repo=None,
        time_limit_s=None,
        system_calls=True,
        argv=tuple(sys.argv[1:]),
    )
    console = Console(highlight=False)
    say = PreparationLog(console, quiet=True)
    prepared = prepare(validate(request, say, quick=True), console, say)
    (scenario,), (label,) = prepared.request.scenarios, prepared.labels
    with Guard() as guard:
        counting = prepared.measurer(guard.watch)
        without = replace(counting, bench=replace(counting.bench, tracepoint=None))
        runs: dict[str, list[Measurement]] = {"counted": [], "not counted": []}
        for number in range(-1, options.runs):
            for state, measurer in in_turn(
                (("counted", counting), ("not counted", without)), number
            ):
                run = measure(measurer, scenario, label, number + 1)
                if number >= 0:  # before that it is a warm-up
                    runs[state].append(run)
    topology = prepared.request.topology
    print(f"{scenario.name}, {topology}, {options.runs} runs each, {label}, quick length")
    for name in SHOWN:
        print(f"  {BY_NAME[name].title:<28} {variations(runs, BY_NAME[name].key)}")
    for name in ("cpu", "steady"):
        metric = BY_NAME[name]
        off, on = ([run.metrics[metric.key] for run in runs[s]] for s in ("not counted", "counted"))
        ratio = geometric_mean(log_ratios(list(zip(off, on, strict=True)), metric))
        print(
            f"  counting adds to {metric.title}: {ratio.value - 1:+.1%} "
            f"(95 % CI {(ratio.low or 1) - 1:+.1%} to {(ratio.high or 1) - 1:+.1%})"
        )


def measure(measurer: Measurer, scenario: Scenario, label: str, number: int) -> Measurement:
    """One run that nothing disturbed, or the last of ``MOST_TRIES``. Exits where it fails."""
    planned = PlannedRun(scenario=scenario, label=label, round=number, position=0)
    for attempt in range(1, MOST_TRIES + 1):
        result = measurer.measure(planned)
        if isinstance(result, Outcome):
            sys.exit(f"The run failed: {result.message}")
        if DISTURBED not in result.marks or attempt == MOST_TRIES:
            return result
    raise AssertionError  # the last attempt is returned


def variations(runs: dict[str, list[Measurement]], key: str) -> str:
    """The mean and the coefficient of variation of a metric, in runs of each kind."""
    said = []
    for state, measured in runs.items():
        values = [run.metrics[key] for run in measured if key in run.metrics]
        if values:
            centre = statistics.fmean(values)
            said.append(f"{state}: {centre:,.4g} ±{statistics.stdev(values) / centre:.1%}")
    return ", ".join(said)


if __name__ == "__main__":
    main()
