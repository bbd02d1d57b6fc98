"""What the probe costs: a scenario with the probe on and off, in turn, and the ratio of CPU time with its interval.

    .bench/venv/bin/python benchmarks/probe_cost.py --python PATH [--call 'partitioned.py:get_flow(heavy_map=True)'] [--rounds 20]

PATH is the Python of an environment with bytewax in it, such as .bench/environments/<key>/bin/python. The default call is
the busiest scenario: heavy work on every item, no waiting.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from waitbench.analysis.statistics import geometric_mean, mean  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--call", default="partitioned.py:get_flow(heavy_map=True)")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(-1, options.rounds):
        for switch in ("on", "off") if number % 2 else ("off", "on"):
            used = cpu_s(str(Path(options.python).absolute()), options.call, switch)
            if number >= 0:  # the first is a warm-up
                seconds[switch].append(used)
    for switch, values in seconds.items():
        print(f"probe {switch}: {mean(values).value:.4f} s CPU (mean of {len(values)})")
    ratio = geometric_mean([math.log(on / off) for on, off in zip(seconds["on"], seconds["off"], strict=True)])
    print(f"on/off: {ratio.value:.4f} (95 % CI {ratio.low:.4f}–{ratio.high:.4f})")


def cpu_s(python: str, call: str, switch: str) -> float:
    """User and system seconds of one run, by wait4."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [python, "-m", "bytewax.run", f"{ROOT / 'dataflows'}/{call}", "-w", "1"],
            stdout=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "BENCH_PROBE": switch, "BENCH_PROBE_DIR": folder},
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"the run with the probe {switch} failed")
        return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
