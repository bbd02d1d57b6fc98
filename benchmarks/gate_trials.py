r"""How often the gate fails when nothing changed, how much it settles, and how long it takes.

    .bench/venv/bin/python benchmarks/gate_trials.py v0.21.1 [--trials 10] [--processes 2] \
        [--results FOLDER] [-- OPTIONS OF compare.sh]

Each trial is one ``./compare.sh base=REVISION new=REVISION --gate`` with what follows ``--``, such
as other criteria. With ``--results``, what is there is not made again.
"""

import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.common import add_results, command_line, results_folder, split
from benchmarks.trials import Comparer, Trial, gate_options, numbered, outcomes, text


def main() -> None:
    own, passed_on = split(sys.argv[1:])
    parser = command_line(__doc__)
    parser.add_argument("revision")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--processes", "-p", type=int, default=2)
    add_results(parser)
    options = parser.parse_args(own)
    with results_folder(options.results) as results:
        comparer = Comparer(
            results=results,
            options=("-p", str(options.processes), *gate_options(passed_on, "--gate")),
        )
        trials = []
        for number, name in numbered(options.trials):
            trials.append(comparer.make(name, options.revision, options.revision))
            print(f"trial {number}: {line_of(trials[-1])}", flush=True)
        print("\n".join(summary(trials)))


def line_of(trial: Trial) -> str:
    """What one trial came to."""
    said = [f"{trial.outcome}: {trial.settled:.0%} of {len(trial.verdict['judgements'])} settled"]
    said += [f"open: {text(judgement)}" for judgement in trial.open]
    said += [f"FAILED: {text(judgement)}" for judgement in trial.failures]
    said += [] if trial.failures else trial.reasons
    return "; ".join([*said, f"{trial.rounds} rounds", f"{trial.wall_s:.0f} s"])


def summary(trials: Sequence[Trial]) -> list[str]:
    """What all trials came to."""
    settled = [trial.settled for trial in trials]
    walls = [trial.wall_s for trial in trials]
    return [
        outcomes(trials),
        f"questions settled: median {median(settled):.0%}, at least {min(settled):.0%} in each; "
        f"median {median(len(trial.open) for trial in trials):g} open",
        f"median {median(walls):.0f} s; {min(walls):.0f} to {max(walls):.0f} s",
    ]


if __name__ == "__main__":
    main()
