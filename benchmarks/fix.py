r"""Whether the gate lets a fix through and stops its reversal, in each topology.

    .bench/venv/bin/python benchmarks/fix.py [--bad v0.16.0] [--good v0.16.1] [--processes 2] \
        [--results FOLDER] [-- OPTIONS OF compare.sh]

bytewax 0.16.1 parks the workers that spin in 0.16.0: far less CPU, and far more wake-ups. Each
comparison is one ``./compare.sh … --gate --fail-fast`` of the scenarios that mostly wait, or with
what follows ``--``. Printed are what the gate says and how long it took. Exits with 1 where it is
wrong.
"""

import sys

from benchmarks.common import add_results, command_line, results_folder, split
from benchmarks.trials import Comparer, Trial, gate_options, text

SCENARIOS = ("-s", "partitioned-long-input", "-s", "dynamic-long-input")


def main() -> None:
    own, passed_on = split(sys.argv[1:])
    parser = command_line(__doc__)
    parser.add_argument("--bad", default="v0.16.0", help="the revision before the fix")
    parser.add_argument("--good", default="v0.16.1", help="the revision with it")
    parser.add_argument("--processes", "-p", type=int, default=2, help="where there are several")
    add_results(parser)
    options = parser.parse_args(own)
    wrong = 0
    with results_folder(options.results) as results:
        for topology in ("single", "cluster", "launcher"):
            processes = 1 if topology == "single" else options.processes
            comparer = Comparer(
                results=results,
                options=(
                    *("-p", str(processes), "--topology", topology),
                    *gate_options(passed_on or SCENARIOS, "--gate", "--fail-fast"),
                ),
            )
            for name, base, new, passes in (
                ("fix", options.bad, options.good, True),
                ("reversal", options.good, options.bad, False),
            ):
                trial = comparer.make(f"{topology}-{name}", base, new)
                wrong += trial.passed is not passes
                print(f"{topology}, {base} → {new}: {report(trial, passes=passes)}", flush=True)
    sys.exit(1 if wrong else 0)


def report(trial: Trial, *, passes: bool) -> str:
    """What the gate says of one direction, in lines; ``passes`` is what it should say."""
    right = "right" if trial.passed is passes else "WRONG"
    said = [f"{right}, {trial.times}", trial.verdict["headline"]]
    said += map(text, trial.verdict["judgements"])
    return "\n  ".join([*said, *trial.verdict["remarks"]])


if __name__ == "__main__":
    main()
