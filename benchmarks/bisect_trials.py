r"""Whether real searches of made-up repositories name what was made, and nothing else.

    .bench/venv/bin/python benchmarks/bisect_trials.py KIND [--trials 20] [--first 1] \
        [--commits 64] [--cpu 0.3] [--results FOLDER]

KIND is one of: one (a culprit of + 25 %), two (of + 25 % each, at least four commits apart), none,
ramp (64 small steps up to × 2), unbuildable (six commits around a culprit of + 25 %). Where they
are differs from trial to trial, and is the same whenever a trial is made again. Each trial is a
``bisect`` of the stand-in (tests/standin.py) with ``--fail-on cpu:10%``. With ``--results``, what
is there is not made again; ``--first`` begins with a later trial than the first.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import add_results, command_line, results_folder
from tests.bisect_repository import Plan, write
from waitbench.system.places import ROOT

RISE = 0.32
"""Of what a commit burns: a quarter more of all the CPU of a run, of which some is the launcher's.
"""
KINDS = ("one", "two", "none", "ramp", "unbuildable")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One search, and what it should have said."""

    plan: Plan
    said: Mapping[str, Any]
    wall_s: float

    @property
    def named(self) -> list[tuple[str, int, int]]:
        """Kind and ends of each finding, by the numbers of the commits."""
        (stage,) = self.said["stages"]
        numbers = {
            point["label"]: int(point["commits"][0]["subject"].split()[1].strip(","))
            for point in stage["points"]
        }
        return [(f["kind"], numbers[f["good"]], numbers[f["bad"]]) for f in stage["findings"]]

    @property
    def steps(self) -> int:
        return sum(len(stage["steps"]) for stage in self.said["stages"])

    @property
    def verdict(self) -> str:
        """``right``, ``open`` or ``WRONG``."""
        named = self.named
        culprits = set(self.plan.culprits)
        false = [
            one for one in named
            if one[0] in ("culprit", "range") and not culprits & set(range(one[1] + 1, one[2] + 1))
        ]  # fmt: skip
        if false and not self.plan.ramp:
            return "WRONG"
        if any(kind in ("inconclusive", "open") for kind, _, _ in named):
            return "open"
        if self.plan.ramp:
            return "right" if self.said["end"] == "gradual" else "WRONG"
        held = {one for one in culprits for _, good, bad in named if good < one <= bad}
        if held == culprits:
            return "right"
        return "open" if self.said["end"] == "no change" else "WRONG"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--cpu", type=float, default=0.3, metavar="SECONDS")
    add_results(parser)
    options = parser.parse_args()
    with results_folder(options.results) as results:
        trials = []
        for number in range(options.first, options.trials + 1):
            plan = plan_of(options.kind, number, options.commits, options.cpu)
            trial = make(plan, results / f"{options.kind}-{number:02d}")
            trials.append(trial)
            print(f"trial {number}: {line_of(trial)}", flush=True)
        verdicts = [trial.verdict for trial in trials]
        counts = ", ".join(f"{verdicts.count(one)} {one}" for one in ("right", "open", "WRONG"))
        print(f"{options.kind}: {counts} of {len(trials)}")


def plan_of(kind: str, number: int, commits: int, cpu_s: float) -> Plan:
    """What the repository of a trial is."""
    chance = random.Random(f"{kind} {number} {commits}")
    if kind == "none":
        return Plan(commits=commits, cpu_s=cpu_s)
    if kind == "ramp":
        return Plan(commits=commits, cpu_s=cpu_s, ramp=1.0)
    if kind == "two":
        first = chance.randrange(1, commits - 5)
        return Plan(
            commits=commits,
            cpu_s=cpu_s,
            culprits={first: RISE, chance.randrange(first + 4, commits): RISE},
        )
    culprit = chance.randrange(4, commits - 4)
    around = range(culprit - 3, culprit + 3) if kind == "unbuildable" else range(0)
    return Plan(commits=commits, cpu_s=cpu_s, culprits={culprit: RISE}, unbuildable=around)


def make(plan: Plan, folder: Path) -> Trial:
    """Searches a repository that is made for it, unless that was done before."""
    kept = folder / "trial.json"
    if not kept.exists():
        folder.mkdir(exist_ok=True)
        repository = folder / "repository"
        if not repository.exists():
            write(repository, plan)
        wall_s = search(repository, folder / "bisect")
        kept.write_text(json.dumps({"wall_s": wall_s}))
    said = json.loads((folder / "bisect" / "bisect.json").read_text())
    return Trial(plan=plan, said=said, wall_s=json.loads(kept.read_text())["wall_s"])


def search(repository: Path, results: Path) -> float:
    """Has a repository searched, or goes on with that; the seconds that it took."""
    ids = ["git", "-C", str(repository), "rev-list", "--reverse", "main"]
    listed = subprocess.run(ids, capture_output=True, text=True, check=True).stdout.split()
    command = [
        sys.executable, str(ROOT / "tests" / "runner_with_standin.py"), "bisect",
        f"standin@{listed[0]}", f"standin@{listed[-1]}", "--repo", str(repository),
        "-s", "dynamic", "--fail-on", "cpu:10%", "--max-rounds", "100", "--quiet",
        "--results", str(results), *(["--resume"] if results.exists() else []),
    ]  # fmt: skip
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the search of {repository} failed:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def line_of(trial: Trial) -> str:
    """What one trial came to."""
    due = ", ".join(map(str, trial.plan.culprits)) or ("a ramp" if trial.plan.ramp else "nothing")
    named = "; ".join(f"{kind} {good}..{bad}" for kind, good, bad in trial.named) or "nothing"
    return f"{trial.verdict}: made {due}, named {named}; {trial.steps} steps, {trial.wall_s:.0f} s"


if __name__ == "__main__":
    main()
