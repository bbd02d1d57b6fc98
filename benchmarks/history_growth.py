"""How long ``history`` takes, and how much memory, with very many comparisons.

    .bench/venv/bin/python benchmarks/history_growth.py [--comparisons 10000] [--scenarios 8] \
        [--results FOLDER]

Writes made-up comparisons, each of an anchor and two neighbours out of 300 commits, five rounds,
and calls ``history`` twice: cold, when everything is read, and warm. Kept output:
docs/trials/history-growth.txt.
"""

import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import add_results, command_line, results_folder
from waitbench.model.environment import Facts
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Contestant, Context, Record
from waitbench.model.run import Measurement
from waitbench.store import comparisons
from waitbench.system.places import ROOT

REVISIONS = 300
ROUNDS = 5
AT = "2026-01-01T00:00:00+00:00"
METRICS = tuple(BY_NAME[name] for name in ("real", "user", "system", "cpu", "steady", "wakeups"))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--comparisons", type=int, default=10_000)
    parser.add_argument("--scenarios", type=int, default=8)
    add_results(parser)
    options = parser.parse_args()
    print(" ".join(["benchmarks/history_growth.py", *sys.argv[1:]]))
    with results_folder(options.results) as results:
        for number in range(options.comparisons):
            folder = results / f"comparison-{number:05d}"
            if not folder.exists():
                write(folder, number, options.scenarios)
        print(f"{options.comparisons} comparisons of {options.scenarios} scenarios each")
        for temperature in ("cold", "warm"):
            seconds, lines = called(results)
            # The largest of all processes so far, which the cold one is part of.
            most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"{temperature}: {seconds:.1f} s, at most {most:.0f} MiB, {lines} lines")


def write(folder: Path, number: int, scenarios: int) -> None:
    """A comparison as it is on the disk, of revisions that cost the same."""
    chance = random.Random(number)
    newest = chance.randrange(2, REVISIONS)
    labels = [f"{one:010x}" for one in (0, newest - 1, newest)]
    context = Context(
        revisions=tuple(map(contestant, labels)),
        topology="single",
        mixed_origins=False,
        hyperfine_version="1.20.0",
        machine={"fingerprint": f"{number % 7:012x}"},
        started_at=AT,
        argv=(),
    )
    records = []
    for place in range(scenarios):
        record = Record(
            scenario=f"scenario-{place}", family=None, parameters={}, context=context,
            metrics=METRICS,
        )  # fmt: skip
        for one in range(1, ROUNDS + 1):
            for position, label in enumerate(labels):
                values = {metric.key: chance.lognormvariate(0, 0.06) for metric in METRICS}
                record.add(
                    Measurement(
                        label=label, round=one, position=position, started_at=AT, metrics=values
                    )
                )
        records.append(record)
    folder.mkdir(parents=True)
    comparisons.begin(folder, context)
    comparisons.finish(folder, records)


def contestant(label: str) -> Contestant:
    """A commit that was built here."""
    facts = Facts(
        python="3.11.9", package_version="0.1.0", extensions={}, package_sha256=label,
        requirements=(), compiler=None, capabilities=frozenset(),
    )  # fmt: skip
    return Contestant(
        label=label, text=label, engine="bytewax", origin="source", commit=label * 4,
        commit_date=AT, facts=facts,
    )  # fmt: skip


def called(results: Path) -> tuple[float, int]:
    """How long the command took, and the lines that it printed."""
    command = [sys.executable, str(ROOT / "runner.py"), "history", str(results)]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.monotonic() - begun, len(done.stdout.splitlines())


if __name__ == "__main__":
    main()
