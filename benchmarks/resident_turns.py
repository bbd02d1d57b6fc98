r"""What a resident worker costs a run: within one, it is stopped and may go on by turns.

    .bench/venv/bin/python benchmarks/resident_turns.py [--runs 4] [--pairs 360] [--turn 0.5]

Two runs differ by more than a worker beside one of them: by where their memory lies, and by what
the machine does that minute. Neighbouring turns of one run share both. Two of them are a pair, and
which state is first alternates. A turn begins with the change of state, so that what worker and
scheduler have missed meanwhile counts as theirs. Prints the ratio of the CPU that the run's
processes use while they wait for input, with interval, and how much one pair varies. On a machine
that does nothing else.
"""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean, stdev

import psutil

from benchmarks.common import command_line
from benchmarks.resident_worker import STATES, let, measuring, resident, used_s
from waitbench.analysis.statistics import geometric_mean
from waitbench.execution.measure import Measurer
from waitbench.execution.plan import in_turn
from waitbench.model.run import Measurement, PlannedRun

SCENARIO = "partitioned-long-input"
INTERVAL_S = 0.25
"""At which its items arrive. A turn is a multiple of it."""
STARTS_S = 5.0
"""From when a run's processes are there to the first turn, and from the last turn to its end."""
LOOKS_S = 0.05
"""How often it is looked whether they are there."""

Processes = Sequence[psutil.Process]
Pair = Mapping[str, float]
"""Cores that a run used in two neighbouring turns, by state."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=360, help="of turns in each run")
    parser.add_argument("--turn", type=float, default=0.5, metavar="S")
    parser.add_argument("--revision", default="v0.21.1")
    options = parser.parse_args()
    lasts_s = 2 * (STARTS_S + options.pairs * options.turn)
    settings = (f"interval={INTERVAL_S}", f"items_per_partition={math.ceil(lasts_s / INTERVAL_S)}")
    found: list[Pair] = []
    with (
        measuring(options.revision, SCENARIO, *settings) as (measurer, scenario, label),
        resident() as processes,
    ):
        for number in range(options.runs):
            planned = PlannedRun(scenario=scenario, label=label, round=number, position=0)
            turns = Turns([*processes.values()], options.turn, options.pairs)
            pairs = turns.during(measurer, planned)
            print(f"run {number + 1}: {line_of(pairs)}", flush=True)
            found += pairs
    print(f"all: {line_of(found)}")


class Turns:
    """Stops what is resident and lets it go on, by turns, while a run is on."""

    def __init__(self, resident: Processes, turn_s: float, pairs: int) -> None:
        self._resident = resident
        self._turn_s = turn_s
        self._pairs = pairs
        self._ended = threading.Event()

    def during(self, measurer: Measurer, planned: PlannedRun) -> Sequence[Pair]:
        """Makes a run, and returns what it used in its turns."""
        with ThreadPoolExecutor(1) as pool:
            taking = pool.submit(self._take)
            try:
                result = measurer.measure(planned)
            finally:
                self._ended.set()
            pairs = taking.result()
        let(self._resident, go_on=True)
        if not isinstance(result, Measurement):
            raise SystemExit(f"a run failed: {result.message}")
        if len(pairs) < self._pairs:
            raise SystemExit(f"a run ended after {len(pairs)} pairs of turns")
        return pairs

    def _take(self) -> Sequence[Pair]:
        while not self._run():
            self._ended.wait(LOOKS_S)
            if self._ended.is_set():
                return []
        self._ended.wait(STARTS_S)
        run, until = self._run(), time.monotonic()
        pairs: list[Pair] = []
        for number in range(self._pairs):
            pair: dict[str, float] = {}
            for state in in_turn(STATES, number):
                let(self._resident, go_on=state == "beside")
                begun, before_s = time.monotonic(), sum(map(used_s, run))
                until += self._turn_s
                if self._ended.wait(until - time.monotonic()):
                    return pairs
                pair[state] = (sum(map(used_s, run)) - before_s) / (time.monotonic() - begun)
            pairs.append(pair)
        return pairs

    def _run(self) -> Processes:
        """The processes of the run, as far as there are any: all that we have begun but these."""
        ours = psutil.Process().children(recursive=True)
        others = {one.pid for root in self._resident for one in (root, *root.children())}
        return [process for process in ours if process.pid not in others]


def line_of(pairs: Sequence[Pair]) -> str:
    """What pairs of turns came to."""
    logs = [math.log(pair["beside"] / pair["without"]) for pair in pairs]
    ratio = geometric_mean(logs)
    used = {state: fmean(pair[state] for pair in pairs) for state in STATES}
    return (
        f"{used['without']:.4f} cores without, {used['beside']:.4f} beside; beside/without "
        f"{ratio.value:.4f} (95 % CI {ratio.low:.4f}–{ratio.high:.4f}, {ratio.count} pairs of "
        f"turns, one ±{stdev(logs):.1%})"
    )


if __name__ == "__main__":
    main()
