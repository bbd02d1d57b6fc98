r"""Whether real searches of made-up repositories name what was made, and nothing else.

    .bench/venv/bin/python benchmarks/bisect_trials.py KIND [--trials 20] [--first 1] \
        [--commits 64] [--cpu 0.3] [--results FOLDER]

KIND is one of: one (a culprit of + 25 %), none. Where it is differs from trial to trial, and is the
same whenever a trial is made again. Each trial is a ``bisect`` of the stand-in (tests/standin.py)
with ``--fail-on cpu:10%``. With ``--results``, what is there is not made again; ``--first`` begins
with a later trial than the first.
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
KINDS = ("one", "none")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One search, and what it should have said."""

    plan: Plan
    said: Mapping[str, Any]
    wall_s: float

    @property
    def named(self) -> tuple[int, int] | None:
        """The numbers of the commits that the change is after, and up to; ``None`` if open."""
        if self.said["end"] not in ("found", "range"):
            return None
        (stage,) = self.said["stages"]
        numbers = {
            label: int(point["commit"]["subject"].split()[1].strip(","))
            for label, point in zip(stage["labels"], stage["points"], strict=True)
        }
        good, bad = (numbers[label] for label in stage["suspects"])
        return good, bad

    @property
    def steps(self) -> int:
        return sum(len(stage["steps"]) for stage in self.said["stages"])

    @property
    def verdict(self) -> str:
        """``right``, ``open`` or ``WRONG``."""
        if self.named is None:
            is_right = self.said["end"] == "no change" and not self.plan.culprits
            return "right" if is_right else "open"
        good, bad = self.named
        return "right" if any(good < one <= bad for one in self.plan.culprits) else "WRONG"


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
    culprit = chance.randrange(4, commits - 4)
    return Plan(commits=commits, cpu_s=cpu_s, culprits={culprit: RISE})


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
        "-s", "dynamic", "--fail-on", "cpu:10%", "--rounds", "100", "--quiet",
        "--results", str(results), *(["--resume"] if results.exists() else []),
    ]  # fmt: skip
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the search of {repository} failed:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def line_of(trial: Trial) -> str:
    """What one trial came to."""
    due = ", ".join(map(str, trial.plan.culprits)) or "nothing"
    named = "..".join(map(str, trial.named)) if trial.named else trial.said["end"]
    return f"{trial.verdict}: made {due}, named {named}; {trial.steps} steps, {trial.wall_s:.0f} s"


if __name__ == "__main__":
    main()
