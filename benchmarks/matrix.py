r"""Whether the CPU of a run is accounted for, in every family, topology and number of workers.

    .bench/venv/bin/python benchmarks/matrix.py [v0.16.2 v0.21.1] [--scenario GLOB …] \
        [--topology KIND …]

One run of each revision in each cell, of the length that the gate has. A cell holds if every item
came out; if start-up, steady phase, shutdown, helpers and launcher add up to hyperfine's user and
system time within 2 %; if none of the five is below zero by more than readings are rounded; and if
no worker opened more than one model or connection, else the run has failed. Exit code 1 if any cell
does not hold. The machine may be busy meanwhile: such a run is marked, and counts.

bytewax 0.16 never ends where four workers share partitions, whatever starts them; such a cell is
given 10 s, and named apart if it needs more. Kept output: docs/trials/matrix.txt.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.common import command_line
from benchmarks.preparing import ready
from waitbench.cli.preparation import Prepared
from waitbench.model.metrics import BY_NAME
from waitbench.model.run import TIMED_OUT, UNBALANCED, Measurement, Outcome, PlannedRun, Result
from waitbench.model.scenario import Scenario, Topology

SCENARIOS = ("scoring-*", "embedding-*", "paged-output-*", "partitioned", "dynamic")
"""All of the families that have helpers, models or connections; of the input's the shortest."""
TOPOLOGIES = {"single": 1, "cluster": 2, "launcher": 2}
"""The number of processes in each."""
WORKERS = (1, 2)
"""Threads of each process."""
_PARTS = ("cpu-startup", "steady", "cpu-shutdown", "cpu-helpers", "cpu-launcher")
HOLDS, HANGS, FAILS = "holds", "hangs", "FAILS"
_MAY_HANG = ("partitioned", 4, "v0.16.")
"""A scenario, the number of workers, and how the revisions begin that never end then."""
_HANGS_AFTER_S = 10.0
_MOST_OFF = 0.02
_ROUNDING_S = 0.001
_WAITS_MS = 100
"""Instead of the second that a request waits in vain for company: nothing here depends on it."""


@dataclass(frozen=True)
class Cell:
    """What is run."""

    scenario: Scenario
    topology: Topology
    label: str

    @property
    def may_hang(self) -> bool:
        """Whether that release is known never to end here."""
        name, workers, begin = _MAY_HANG
        here = self.scenario.name, self.topology.worker_count
        return here == (name, workers) and self.label.startswith(begin)

    def __str__(self) -> str:
        return f"{self.scenario.name}, {self.topology}, {self.label}"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("revisions", nargs="*", default=["v0.16.2", "v0.21.1"])
    parser.add_argument("--scenario", "-s", action="append", metavar="GLOB")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    options = parser.parse_args()
    prepared = ready(options.revisions, 1, *(options.scenario or SCENARIOS))
    words = []
    for cell, result in cells(prepared, options.topology or TOPOLOGIES):
        words.append(word(cell, result))
        print(line(cell, result), flush=True)
    failed = len(prepared.errors) + words.count(FAILS)
    print(
        f"{len(words)} cells: {words.count(HOLDS)} hold, {words.count(HANGS)} hang, {failed} fail"
    )
    sys.exit(1 if failed else 0)


def cells(prepared: Prepared, topologies: Iterable[str]) -> Iterator[tuple[Cell, Result]]:
    """Runs every cell once; gives it, and what came of it."""
    measurer = prepared.measurer()
    for scenario in map(_shortened, prepared.request.scenarios):
        for kind in topologies:
            for workers in WORKERS:
                topology = Topology(kind, TOPOLOGIES[kind], workers)
                for label in prepared.labels:
                    cell = Cell(scenario, topology, label)
                    limit_s = _HANGS_AFTER_S if cell.may_hang else None
                    bench = replace(measurer.bench, topology=topology, time_limit_s=limit_s)
                    run = PlannedRun(scenario=scenario, label=label, round=1, position=0)
                    yield cell, replace(measurer, bench=bench).measure(run)


def _shortened(scenario: Scenario) -> Scenario:
    if "max_wait_time" not in scenario.parameters:
        return scenario
    return replace(scenario, parameters={**scenario.parameters, "max_wait_time": _WAITS_MS})


def holds(result: Result) -> bool:
    """Whether a run gave all items, and its CPU is accounted for."""
    if not isinstance(result, Measurement) or UNBALANCED in result.marks:
        return False
    # Where no worker said what it did, there are no parts: all of the total is off.
    return _off(result) <= _MOST_OFF and min(_parts(result).values()) >= -_ROUNDING_S


def word(cell: Cell, result: Result) -> str:
    """What came of a cell, in a word."""
    if isinstance(result, Outcome) and result.reason == TIMED_OUT and cell.may_hang:
        return HANGS
    return HOLDS if holds(result) else FAILS


def line(cell: Cell, result: Result) -> str:
    """What is printed of a cell."""
    begin = f"{word(cell, result)}  {cell}: "
    if not isinstance(result, Measurement):
        return f"{begin}{result.reason}: {result.message}"
    parts = _parts(result)
    if not parts:
        return f"{begin}no worker reported"
    # Not every family has helpers, and none have used nothing.
    seconds, smallest = min((value, part) for part, value in parts.items() if value)
    return "; ".join(
        (
            f"{begin}complete",
            f"off by {_off(result):.2%} of {_total(result):.2f} s",
            f"smallest {smallest.removeprefix('cpu-')}, {1000 * seconds:.1f} ms",
            f"helpers {1000 * parts['cpu-helpers']:.0f} ms",
            *result.marks,
        )
    )


def _parts(run: Measurement) -> Mapping[str, float]:
    keys = {part: BY_NAME[part].key for part in _PARTS}
    return {part: run.metrics[key] for part, key in keys.items() if key in run.metrics}


def _total(run: Measurement) -> float:
    return run.metrics[BY_NAME["cpu"].key]


def _off(run: Measurement) -> float:
    """How far the parts are from the total, as a share of it."""
    return abs(sum(_parts(run).values()) - _total(run)) / _total(run)


if __name__ == "__main__":
    main()
