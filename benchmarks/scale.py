r"""Time and memory that waitbench itself takes as its work grows.

    ./waitbench --help >/dev/null && .bench/venv/bin/python benchmarks/scale.py --output scale

Runs: copies of an idle worker, processes in its tree, and wake-ups a second; the time is the CPU of
a run's launcher. Stored results: runs of a comparison (``report``), and sessions (``history``); the
time is the CPU of the command. Memory is that of waitbench's largest process, or of a larger
worker. An exponent above 1.5 between the last two sizes is called more than linear. Writes the
chart ``scale.png``.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from matplotlib.figure import Figure

from benchmarks.common import command_line
from waitbench.system.paths import ROOT

WORKER = ROOT / "benchmarks" / "pairs" / "scale.toml"
SESSION = ROOT / "docs" / "samples" / "history" / "4"
REVISIONS = ("x=scale_worker.py", "y=scale_worker.py")
STEEPEST = 1.5
"""The exponent above which growth is more than linear."""


class Cost(NamedTuple):
    """The cost to waitbench of work of one size."""

    size: int
    cpu_s: float
    memory_mib: float


def carry_out(*command: str) -> tuple[float, float]:
    """Runs a command of waitbench; returns its CPU seconds and its peak memory in MiB."""
    process = subprocess.Popen(
        [str(ROOT / command[0]), *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: {errors.decode()}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def compare(folder: Path, *options: str) -> float:
    """Makes a run of each revision, with results in a folder; returns the peak memory in MiB."""
    arguments = ["--worker", str(WORKER), *REVISIONS, "--rounds", "1", "--no-plot"]
    return carry_out("compare.sh", *arguments, "--results", str(folder), *options)[1]


def run_cost(folder: Path, size: int, *options: str) -> Cost:
    memory_mib = compare(folder, *options)
    launcher_s = [run["metrics"]["time_cpu_launcher"] for run in read_runs(folder)]
    return Cost(size, median(launcher_s), memory_mib)


def of_copies(folder: Path, size: int) -> Cost:
    return run_cost(folder, size, "--processes", str(size))


def of_processes(folder: Path, size: int) -> Cost:
    return run_cost(folder, size, "--set", f"children={size}")


def of_wakeups(folder: Path, size: int) -> Cost:
    return run_cost(folder, size, "--set", f"wakeups={size}")


def of_runs(folder: Path, size: int) -> Cost:
    """Reports a comparison of two runs, which are repeated until there are so many."""
    compare(folder)
    runs = read_runs(folder)
    runs = [{**runs[number % len(runs)], "round": 1 + number // 2} for number in range(size)]
    write_runs(folder, runs)
    return Cost(size, *carry_out("waitbench", "report", str(folder)))


def of_sessions(folder: Path, size: int) -> Cost:
    """Shows the history of a stored session, repeated hour by hour until there are so many."""
    header, runs = json.loads((SESSION / "comparison.json").read_text()), read_runs(SESSION)
    begun = datetime.fromisoformat(header["started_at"])
    for number in range(size):
        session = folder / str(number)
        session.mkdir(parents=True)
        started_at = (begun + timedelta(hours=number)).isoformat()
        (session / "comparison.json").write_text(json.dumps({**header, "started_at": started_at}))
        write_runs(session, [{**run, "started_at": started_at} for run in runs])
    return Cost(size, *carry_out("waitbench", "history", str(folder)))


def read_runs(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def write_runs(folder: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    (folder / "runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))


GROWTHS: Mapping[str, tuple[Callable[[Path, int], Cost], Sequence[int]]] = {
    "copies": (of_copies, (1, 4, 16, 64)),
    "processes of a worker": (of_processes, (10, 100, 1000, 5000)),
    "wake-ups a second": (of_wakeups, (100, 1000, 10_000, 100_000)),
    "runs of a comparison": (of_runs, (10, 100, 1000, 4000)),
    "sessions of a history": (of_sessions, (10, 100, 1000)),
}
"""By a title, how to measure and the sizes."""


def exponent(costs: Sequence[Cost]) -> float:
    """The exponent of growth in CPU time between the last two sizes."""
    before, after = costs[-2:]
    return math.log(after.cpu_s / before.cpu_s) / math.log(after.size / before.size)


def chart(costs: Mapping[str, Sequence[Cost]]) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    of_time, of_memory = figure.subplots(1, 2)
    for title, points in costs.items():
        sizes = [cost.size for cost in points]
        of_time.plot(sizes, [cost.cpu_s for cost in points], "o-", label=title)
        of_memory.plot(sizes, [cost.memory_mib for cost in points], "o-", label=title)
    of_time.set(xscale="log", yscale="log", title="CPU of waitbench, s")
    of_memory.set(xscale="log", ylim=(0, None), title="memory of waitbench, MiB")
    of_time.legend(fontsize=8)
    return figure


def main(arguments: Sequence[str]) -> None:
    parser = command_line(__doc__)
    parser.add_argument("--output", type=Path, required=True, help="a folder for the chart")
    parser.add_argument("--largest", type=float, default=math.inf, help="no size above this")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    costs = dict[str, list[Cost]]()
    for title, (measure, sizes) in GROWTHS.items():
        for size in (it for it in sizes if it <= options.largest):
            with TemporaryDirectory() as name:
                cost = measure(Path(name, "results"), size)
            costs.setdefault(title, []).append(cost)
            print(f"{cost.size:>7,} {title}: {cost.cpu_s:.2f} s, {cost.memory_mib:.0f} MiB")
    for title, points in costs.items():
        steepness = exponent(points)
        verdict = "MORE THAN LINEAR" if steepness > STEEPEST else "at most linear"
        print(f"{title}: exponent {steepness:.2f}, {verdict}")
    chart(costs).savefig(options.output / "scale.png", dpi=120)


if __name__ == "__main__":
    main(sys.argv[1:])
