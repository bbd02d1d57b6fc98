r"""Measures how often `./waitbench look --limit` is right: on simulated windows, and on programs.

    .bench/venv/bin/python -m benchmarks.features.look simulate [--looks 400] [--seed 1]
    .bench/venv/bin/python -m benchmarks.features.look run [--looks 20]

``simulate``: a line has the shares of looks that failed, held and stayed open, and their median
number of windows of a second. The limit is 1; the line names the mean cost of the process.

``run``: programs wake up ten times a second, and work for a random time. ``look`` checks each with
a limit of its cost / 0.8 and / 1.25. While another program never sleeps, it checks a limit of their
cost / 0.8, and compares pairs of equal programs.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice, pairwise
from statistics import fmean, median

import numpy
from numpy.random import Generator, default_rng

from benchmarks.common import command_line
from waitbench.analysis.criteria import DEFAULTS
from waitbench.features.look import observe, windows
from waitbench.features.look.observe import Total
from waitbench.features.look.windows import SIZES, Figures, read_limits, verdict_on
from waitbench.model.verdicts import GateStatus
from waitbench.system.paths import ROOT

Costs = Iterator[float]
"""The costs of windows, with a mean of 1."""

PROGRAM = """
import random, sys, time
random.seed(int(sys.argv[1]))
while True:
    time.sleep(0.1)
    end = time.thread_time() + 0.001 * random.lognormvariate(0, 0.5)
    while time.thread_time() < end: pass
"""
SPINS = "while True: pass"
CONCURRENT = 4
"""The number of concurrent looks. With more, programs would wait for a CPU."""


def correlated(memory: float, spread: float = 0.15) -> Callable[[Generator], Costs]:
    def costs(random: Generator) -> Costs:
        noise = random.standard_normal()
        while True:
            yield float(numpy.exp(spread * noise - spread**2 / 2))
            noise = memory * noise + (1 - memory**2) ** 0.5 * random.standard_normal()

    return costs


def cycle(windows_each: float) -> Callable[[Generator], Costs]:
    """A cost that comes as a whole every ``windows_each`` windows."""

    def costs(random: Generator) -> Costs:
        due = random.random() * windows_each
        number = 0
        while True:
            number, cost = number + 1, 0.0
            while due < number:
                cost += windows_each * float(random.normal(1.0, 0.05))
                due += windows_each
            yield cost

    return costs


def poisson(each_window: float) -> Callable[[Generator], Costs]:
    def costs(random: Generator) -> Costs:
        while True:
            yield random.poisson(each_window) / each_window

    return costs


def slow_start(random: Generator) -> Costs:
    """Twice the cost for 20 windows."""
    yield from (2 * cost for cost in islice(correlated(0.0)(random), 20))
    yield from correlated(0.0)(random)


PROCESSES: Mapping[str, Callable[[Generator], Costs]] = {
    "varies by 15 %": correlated(0.0),
    "by 50 %": correlated(0.0, 0.5),
    "by 15 %, AR(1) 0.5": correlated(0.5),
    "by 15 %, AR(1) 0.9": correlated(0.9),
    "random, 5 a window": poisson(5),
    "random, 1 a window": poisson(1),
    "works each 1.5 s": cycle(1.5),
    "works each 2 s": cycle(2),
    "works each 3 s": cycle(3),
    "works each 5 s": cycle(5),
    "works each 10 s": cycle(10),
    "works each 30 s": cycle(30),
    "works each 60 s": cycle(60),
    "2 x for 20 s at first": slow_start,
}
LABELS = {GateStatus.FAIL: "fails", GateStatus.PASS: "holds", GateStatus.INCONCLUSIVE: "open"}


def figures(cost: float) -> Figures:
    """The figures of a window; a cost of 1 is 1 % of a core."""
    total = Total(name="", seconds=1.0, cores=cost / 100, wakeups_per_s=0.0, memory_bytes=2**24)
    return windows._figures(total)


def look(processes: Sequence[Costs]) -> tuple[str, int]:
    """The outcome, and the number of windows."""
    labels = [str(number) for number in range(len(processes))]
    criteria = DEFAULTS if processes[1:] else read_limits(["idle:1%"])
    known = [
        [figures(cost) for cost in costs]
        for costs in islice(zip(*processes, strict=True), max(SIZES))
    ]
    for number, size in sorted(SIZES.items()):
        verdict = verdict_on(known[:number], labels, criteria, size)
        if verdict.outcome is not GateStatus.INCONCLUSIVE:
            break
    return LABELS[verdict.outcome], number


def row(name: str, outcomes: Sequence[tuple[str, int]]) -> None:
    counts = Counter(outcome for outcome, _ in outcomes)
    shares = "".join(f"{counts[it] / len(outcomes):>9.3f}" for it in LABELS.values())
    print(f"{name:<34}{shares}{median(it for _, it in outcomes):>9.0f}", flush=True)


def simulate(looks: int, seed: int, only: str) -> None:
    print(f"{'':<34}" + "".join(f"{it:>9}" for it in (*LABELS.values(), "windows")))
    for name, costs in PROCESSES.items():
        for mean in (0.8, 1.0, 1.25) if only in name else ():
            random = default_rng(seed)
            seen = [look([(mean * it for it in costs(random))]) for _ in range(looks)]
            row(f"{name}, {mean:g} x", seen)
    for name in ("varies by 15 %", "by 15 %, AR(1) 0.5", "by 15 %, AR(1) 0.9"):
        for ratio in (1.0, 1.5) if only in f"two, {name}" else ():
            random = default_rng(seed)
            costs = PROCESSES[name]
            pairs = [
                look([costs(random), (ratio * it for it in costs(random))]) for _ in range(looks)
            ]
            row(f"two, {name}, {ratio:g} x", pairs)


@contextmanager
def running(*commands: Sequence[object]) -> Iterator[list[int]]:
    processes = [subprocess.Popen([str(word) for word in command]) for command in commands]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def programs(number: int) -> list[list[object]]:
    return [[sys.executable, "-c", PROGRAM, seed] for seed in range(number)]


def run_look(*arguments: object) -> tuple[str, int]:
    command = [sys.executable, str(ROOT / "runner.py"), "look", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counted = re.search(r"(\d+) windows", done.stdout)
    outcome = {0: "holds", 1: "fails", 3: "open"}.get(done.returncode)
    if outcome is None or counted is None:
        raise SystemExit(f"{done.stdout}{done.stderr}")
    return outcome, int(counted[1])


def concurrently(calls: Sequence[Sequence[object]]) -> list[tuple[str, int]]:
    def later(number: int) -> tuple[str, int]:
        time.sleep(0.4 * (number % CONCURRENT))  # so that commands do not start together
        return run_look(*calls[number])

    with ThreadPoolExecutor(CONCURRENT) as pool:
        return [*pool.map(later, range(len(calls)))]


def run(looks: int) -> None:
    with running(*programs(looks)) as pids:
        with ThreadPoolExecutor(looks) as pool:
            costs = [*pool.map(lambda pid: observe.look(pid, 20), pids)]
        cores, wakeups = (
            [getattr(it, name) for it in costs] for name in ("cores", "wakeups_per_s")
        )
        print(
            f"{looks} programs of {fmean(cores):.2%} of a core and {fmean(wakeups):.1f} wake-ups/s"
        )

        def limited(share: float) -> list[tuple[str, int]]:
            return concurrently(
                [
                    (pid, "--limit", f"idle:{100 * cpu / share:.4f}%", "--limit",
                     f"wakeups:{each_s / share:.4f}/s")
                    for pid, cpu, each_s in zip(pids, cores, wakeups, strict=True)
                ]
            )  # fmt: skip

        row("0.8 x of both limits", limited(0.8))
        row("1.25 x of both limits", limited(1.25))
        with running([sys.executable, "-c", SPINS]):
            row("0.8 x, beside a busy core", limited(0.8))
            row("equal ones, beside a busy core", concurrently([*pairwise([*pids, pids[0]])]))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("what", choices=("simulate", "run"))
    parser.add_argument("--looks", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names of lines")
    chosen = parser.parse_args()
    if chosen.what == "simulate":
        simulate(chosen.looks or 400, chosen.seed, chosen.only)
    else:
        run(chosen.looks or 20)


if __name__ == "__main__":
    main()
