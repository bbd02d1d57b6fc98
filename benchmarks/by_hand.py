r"""The same question by hand and by the gate: how long each takes, and what it says.

    .bench/venv/bin/python benchmarks/by_hand.py [v0.16.0 v0.16.1] [--runs 10] [--processes 2] \
        [--results FOLDER] [-- OPTIONS OF compare.sh]

By hand: the engine's own launcher, ten runs of hyperfine of one revision and then ten of the other,
for each default scenario at its full length. A person then says that system time rose or fell where
mean ± standard deviation of the two do not overlap. hyperfine is called once a run, because before
2.0 it gives no deviation of system time. By the gate: one
``./compare.sh … --topology launcher --gate`` with what follows ``--``. Environments are there
already for both. With ``--results``, what is there is not made again.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

from benchmarks.common import add_results, command_line, results_folder, split
from benchmarks.preparing import ready
from benchmarks.trials import Comparer, Trial, gate_options, text
from waitbench.cli.preparation import Prepared
from waitbench.execution.hyperfine import Hyperfine, parse_export
from waitbench.model.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Series:
    """The runs of one revision in one scenario, made by hand."""

    system_s: Sequence[float]
    """System time of each run."""
    wall_s: float
    """How long all of them took."""

    @property
    def low(self) -> float:
        return fmean(self.system_s) - stdev(self.system_s)

    @property
    def high(self) -> float:
        return fmean(self.system_s) + stdev(self.system_s)

    def __str__(self) -> str:
        return f"{fmean(self.system_s):.3f} ± {stdev(self.system_s):.3f} s"


def main() -> None:
    own, passed_on = split(sys.argv[1:])
    parser = command_line(__doc__)
    parser.add_argument("revisions", nargs="*", default=["v0.16.0", "v0.16.1"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--processes", "-p", type=int, default=2)
    add_results(parser)
    options = parser.parse_args(own)
    base, new = options.revisions
    prepared = ready((base, new), options.processes, topology="launcher", quick=False)
    by_hand = {}
    with results_folder(options.results) as results:
        for scenario in prepared.request.scenarios:
            pair = [
                measure(prepared, scenario, label, options.runs, results)
                for label in prepared.request.labels
            ]
            by_hand[scenario.name] = (pair[0], pair[1])
            print(f"{scenario.name}: {pair[0]} and {pair[1]} by hand", flush=True)
        comparer = Comparer(
            results=results,
            options=(
                *("-p", str(options.processes), "--topology", "launcher"),
                *gate_options(passed_on, "--gate"),
            ),
        )
        print("\n".join(table(by_hand, comparer.make("gate", base, new))))


def measure(prepared: Prepared, scenario: Scenario, label: str, runs: int, results: Path) -> Series:
    """The runs of one revision, one after the other: made, or read if they are there."""
    kept = results / f"{scenario.name}-{label}.json"
    if not kept.exists():
        request = prepared.request
        start = request.engine.start(prepared.environments[label], scenario, request.topology)
        before = time.monotonic()
        system_s = [
            time_system_s(prepared.hyperfine, start.arguments, scenario.time_limit_s)
            for _ in range(runs)
        ]
        series = Series(system_s=system_s, wall_s=time.monotonic() - before)
        kept.write_text(json.dumps(asdict(series)))
    return Series(**json.loads(kept.read_text()))


def time_system_s(hyperfine: Hyperfine, command: Sequence[str], time_limit_s: float) -> float:
    """The system time of one run, as hyperfine says. Exits where the run fails."""
    with TemporaryDirectory() as folder:
        export = Path(folder) / "export.json"
        subprocess.run(
            hyperfine.arguments(command, export),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=time_limit_s,
            check=True,
        )
        timing = parse_export(export.read_text())
    if timing.exit_code != 0:
        sys.exit(f"exit code {timing.exit_code}: {' '.join(command)}")
    return timing.system_s


def says(base: Series, new: Series) -> str:
    """What a person reads off two means with their standard deviations."""
    if new.low > base.high:
        return "rose"
    return "fell" if new.high < base.low else "no telling"


def table(by_hand: dict[str, tuple[Series, Series]], trial: Trial) -> list[str]:
    """Lines of a Markdown table: what is said of each scenario, and how long all took."""
    lines = [
        "| scenario | system time by hand | says | the gate says |",
        "| --- | --- | --- | --- |",
    ]
    judged: dict[str, list[str]] = {}
    for judgement in trial.verdict["judgements"]:
        judged.setdefault(judgement["scenario"], []).append(text(judgement))
    for scenario in dict.fromkeys([*by_hand, *judged]):
        pair = by_hand.get(scenario)
        hand = f"{pair[0]}, {pair[1]} | {says(*pair)}" if pair else "– | –"
        lines.append(f"| {scenario} | {hand} | {'<br>'.join(judged.get(scenario, ['–']))} |")
    hand_s = sum(series.wall_s for pair in by_hand.values() for series in pair)
    headline = trial.verdict["headline"]
    lines.append(f"| all | {hand_s:.0f} s | | {trial.times}: {headline} |")
    return lines


if __name__ == "__main__":
    main()
