r"""How often a gate of equal revisions is inconclusive beside a program that uses CPU at random.

    .bench/venv/bin/python benchmarks/neighbour.py --shares 0 0.05 0.2 0.5 --gates 3 \
        -- --worker workers/servers/cheroot.toml a=8.6.0 b=8.6.0

Each half second, the neighbour is busy for a part drawn between 0 and twice its share of a core,
at most all of it. The arguments after -- are those of a gate by compare.sh.
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common import command_line
from waitbench.system.paths import ROOT

NEIGHBOUR = """
import random, sys, time
while True:
    begun = time.monotonic()
    busy_s = 0.5 * min(1.0, random.uniform(0.0, 2 * float(sys.argv[1])))
    while time.monotonic() < begun + busy_s:
        pass
    time.sleep(max(0.0, begun + 0.5 - time.monotonic()))
"""
OUTCOMES = {0: "pass", 1: "FAIL", 3: "inconclusive"}


def gate(arguments: Sequence[str]) -> tuple[str, float]:
    """Runs a gate; returns its outcome and its time in s."""
    begun = time.monotonic()
    command = [str(ROOT / "compare.sh"), *arguments, "--gate", "--no-plot", "--quiet"]
    code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    return OUTCOMES.get(code, f"exit code {code}"), time.monotonic() - begun


def main(arguments: Sequence[str]) -> None:
    parser = command_line(__doc__)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.2, 0.5])
    parser.add_argument("--gates", type=int, default=3)
    parser.add_argument("gate", nargs="+", metavar="ARGUMENT")
    given = parser.parse_args(arguments)
    for share in given.shares:
        neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(share)])
        try:
            results = [gate(given.gate) for _ in range(given.gates)]
        finally:
            neighbour.kill()
            neighbour.wait()
        outcomes = Counter(outcome for outcome, _ in results)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        seconds = median(seconds for _, seconds in results)
        print(f"{share:.0%} of a core: {counts}; median {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
