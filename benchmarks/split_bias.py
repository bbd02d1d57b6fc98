r"""Whether the sampled system time says of two revisions what an exact trace says.

    .bench/venv/bin/python benchmarks/split_bias.py v0.16.2:v0.21.1 base.whl:doctored.whl \
        [--rounds 12] [--processes 2] [--scenario partitioned-long-input]

Each pair is measured as the gate does it (an instrumented run, then a timed one, of both in turn),
and traced. Printed are the ratio of steady system time, sampled, with its 95 % interval, the ratio
by the exact trace, and whether the one holds the other. To what a trace sees within each call is
added what an empty call takes, measured once. Kept output: docs/trials/split-bias.txt.
"""

from benchmarks.common import command_line
from benchmarks.preparing import ready
from benchmarks.system_time import measure_beside, traced_s
from waitbench.analysis.statistics import geometric_mean, log_ratios
from waitbench.execution.plan import in_turn
from waitbench.model.metrics import BY_NAME

METRIC = BY_NAME["steady-system"]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("pairs", nargs="+", metavar="BASELINE:CANDIDATE")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--scenario", default="partitioned-long-input")
    options = parser.parse_args()
    for pair in options.pairs:
        base, new = pair.split(":")
        print(compare(base, new, options.processes, options.scenario, options.rounds), flush=True)


def compare(base: str, new: str, processes: int, scenario_name: str, rounds: int) -> str:
    """What both ways say of two revisions."""
    prepared = ready((f"base={base}", f"new={new}"), processes, scenario_name)
    (scenario,) = prepared.request.scenarios
    sampled: list[tuple[float, float]] = []
    exact: list[tuple[float, float]] = []
    measurer = prepared.measurer()
    for number in range(rounds + 1):
        by_samples, by_trace = {}, {}
        for label in in_turn(prepared.labels, number):
            run = measure_beside(measurer, scenario, label, number)
            by_samples[label] = run.metrics[METRIC.key]
            by_trace[label] = traced_s(measurer.bench, scenario, label)
        if number > 0:  # before that it is a warm-up
            sampled.append((by_samples["base"], by_samples["new"]))
            exact.append((by_trace["base"], by_trace["new"]))
    fine, true = (geometric_mean(log_ratios(pairs, METRIC)) for pairs in (sampled, exact))
    assert fine.low is not None
    assert fine.high is not None
    holds = "holds" if fine.low <= true.value <= fine.high else "DOES NOT HOLD"
    return (
        f"{base} -> {new}, {scenario.name}, {prepared.request.topology}, {rounds} rounds: "
        f"sampled x {fine.value:.3f} ({fine.low:.3f} to {fine.high:.3f}) {holds} "
        f"the exact x {true.value:.3f} ({true.low or 0:.3f} to {true.high or 0:.3f})"
    )


if __name__ == "__main__":
    main()
