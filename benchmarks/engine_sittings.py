"""Two sittings of engines side by side: is each complete, and do they agree?

    .bench/venv/bin/python benchmarks/engine_sittings.py docs/samples/engines{,-again}

Of each revision: its runs, those without a measurement, and how far the parts of its CPU are from
the whole at worst. Then each figure of the tables: how many pairs of revisions the first sitting
calls different (the 95 % interval of their ratio, round by round, does not hold 1), and which of
those come in another order in the second.
"""

import math
from itertools import combinations
from pathlib import Path

from benchmarks.common import command_line
from waitbench.analysis.side_by_side import Figure, record_of
from waitbench.analysis.statistics import geometric_mean
from waitbench.families.input.side_by_side import SIDE_BY_SIDE
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents

PARTS = ("startup", "steady", "shutdown", "helpers", "launcher")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("folders", nargs=2, type=Path, metavar="FOLDER")
    first, second = (comparisons.read(one) for one in parser.parse_args().folders)
    for number, contents in enumerate((first, second), 1):
        print(f"sitting {number}")
        show_completeness(contents)
    print("pairs that the first calls different, and those in another order in the second")
    for title, figures in SIDE_BY_SIDE.groups.items():
        for figure in figures:
            show_orders(title, figure, first, second)


def show_completeness(contents: Contents) -> None:
    """Runs, outcomes and the worst balance of each revision."""
    assert contents.context is not None
    for label in contents.context.labels:
        runs = [run for record in contents.records for run in record.of(label)]
        outcomes = [o for record in contents.records for o in record.outcomes if o.label == label]
        reasons = ", ".join(sorted({outcome.reason for outcome in outcomes})) or "none"
        worst = max(map(imbalance, runs), default=math.nan)
        print(f"  {label}: {len(runs)} runs, without a measurement: {len(outcomes)} ({reasons}), "
              f"parts against the whole at worst {worst:.2%}")  # fmt: skip


def imbalance(run: Measurement) -> float:
    """How far the parts of a run's CPU are from the whole, as a share of that."""
    metrics = run.metrics
    parts = sum(metrics[f"time_cpu_{part}"] for part in PARTS)
    return abs(parts / metrics["time_cpu"] - 1)


def show_orders(title: str, figure: Figure, first: Contents, second: Contents) -> None:
    of_first, of_second = (record_of(figure, one.records) for one in (first, second))
    if of_first is None or of_second is None:
        return
    different, turned = 0, []
    for one, other in combinations(of_first.context.labels, 2):
        logs = ratios(figure, of_first, one, other)
        again = ratios(figure, of_second, one, other)
        if len(logs) < 2 or not again:
            continue
        found = geometric_mean(logs)
        assert found.low is not None, "of two rounds or more"
        assert found.high is not None, "of two rounds or more"
        if not found.low <= 1 <= found.high:
            different += 1
            repeated = geometric_mean(again)
            if (repeated.value > 1) != (found.value > 1):
                turned.append(f"{one} / {other}: × {found.value:.3g}, then × {repeated.value:.3g}")
    print(f"  {title}: {figure.title}: {different} different, {len(turned)} turned")
    for line in turned:
        print(f"    {line}")


def ratios(figure: Figure, record: Record, one: str, other: str) -> list[float]:
    """The logarithm of the first's figure to the second's in each round that both have."""
    theirs = {run.round: run for run in record.of(other)}
    found = []
    for run in record.of(one):
        if run.round not in theirs:
            continue
        try:
            pair = figure.of_run(run.metrics), figure.of_run(theirs[run.round].metrics)
        except (KeyError, ZeroDivisionError):
            continue
        found.append(math.log(max(pair[0], 1e-6) / max(pair[1], 1e-6)))
    return found


if __name__ == "__main__":
    main()
