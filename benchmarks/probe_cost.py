r"""What the probe costs: a workload with and without it, in turn; the ratio of CPU, with interval.

    .bench/venv/bin/python benchmarks/probe_cost.py --python PATH \
        [--call 'partitioned.py:get_flow(heavy_map=True)'] [--rounds 20]

PATH is the Python of an environment with bytewax in it, such as
.bench/environments/<key>/bin/python. The default call is the busiest scenario: heavy work on every
item, no waiting. Kept output: docs/trials/probe-cost.txt.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import command_line
from waitbench.analysis.statistics import geometric_mean, log_ratios, mean
from waitbench.execution.bench import PROBE_DIRECTORY
from waitbench.execution.plan import in_turn
from waitbench.model.metrics import BY_NAME
from waitbench.system.places import DATAFLOWS

SWITCH = "BENCH_PROBE"
"""The environment variable that turns the probe off: dataflows/support/probe.py."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--call", default="partitioned.py:get_flow(heavy_map=True)")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(-1, options.rounds):
        for state in in_turn(("off", "on"), number):
            used_s = run(options.python.absolute(), options.call, state)
            if number >= 0:  # before that it is a warm-up
                seconds[state].append(used_s)
    for state, values in seconds.items():
        print(f"probe {state}: {mean(values).value:.4f} s CPU (mean of {len(values)})")
    pairs = list(zip(seconds["off"], seconds["on"], strict=True))
    ratio = geometric_mean(log_ratios(pairs, BY_NAME["cpu"]))
    print(f"on/off: {ratio.value:.4f} (95 % CI {ratio.low:.4f}–{ratio.high:.4f})")


def run(python: Path, call: str, state: str) -> float:
    """Runs a workload once, with the probe ``on`` or ``off``; returns its CPU time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [str(python), "-m", "bytewax.run", f"{DATAFLOWS}/{call}", "-w", "1"],
            stdout=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, SWITCH: state, PROBE_DIRECTORY: folder},
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"the run with the probe {state} failed")
        return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
