"""What many machines would have to do, from what committed samples took.

    PYTHONPATH=src:dataflows:. .bench/venv/bin/python -m benchmarks.many_machines

Prints how long each scenario of docs/samples/input took, how long shares of it would have, what a
day of comparisons is in machine-hours, and how large the results are.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from waitbench.families import selection
from waitbench.model.share import Shard
from waitbench.system.places import ROOT

SAMPLE = ROOT / "docs" / "samples" / "input"
REVISIONS = 2
"""Those of the sample."""
GATE_S = 161
"""The median of forty gates of a release with itself: docs/trials/itself-27-questions.txt."""
A_DAY = 1000


def main() -> None:
    """Prints the figures."""
    took_s = _took_s()
    whole_s = sum(took_s.values())
    print("seconds of each scenario, with two revisions, five rounds and a warm-up:")
    for name, seconds in took_s.items():
        print(f"  {name:34}{seconds:6.0f}")
    print(f"  {'all':34}{whole_s:6.0f}\n")
    expected_s = {one.name: one.expected_s for one in selection.select((), (), quick=False)}
    for number in (2, 3, 4, 5, 8):
        shares = [Shard(index=it, number=number).of(expected_s) for it in range(1, number + 1)]
        slowest_s = max(sum(took_s[name] for name in share.scenarios) for share in shares)
        print(f"{number} shares: {slowest_s:.0f} s, {whole_s / slowest_s:.1f} times as fast")
    print(f"\nmachine-hours of {A_DAY:,} comparisons:")
    twelve_s = whole_s * 12 / REVISIONS
    for title, seconds in {
        "the gate, two revisions": GATE_S,
        "eight scenarios, two revisions": whole_s,
        "eight scenarios, twelve revisions": twelve_s,
        "… on three kinds of machine": 3 * twelve_s,
    }.items():
        hours = A_DAY * seconds / 3600
        print(f"  {title:34}{hours:8,.0f} = {hours / 24:.1f} machines at work all day")
    kept = [path.stat().st_size for path in SAMPLE.iterdir() if path.suffix in (".json", ".csv")]
    runs = sum(1 for _ in _rows())
    print(f"\nresults: {sum(kept):,} bytes of JSON and CSV, {sum(kept) / runs:,.0f} a run")
    a_day = 3 * 12 // REVISIONS * A_DAY
    print(
        f"twelve revisions on three kinds, {A_DAY:,} times: {sum(kept) * a_day / 1e9:.1f} GB, ",
        end="",
    )
    print(f"{runs * a_day / 86400:.0f} runs a second")


def _took_s() -> Mapping[str, float]:
    """From the beginning of a scenario's warm-up to the end of its last run, as far as is kept.

    Warm-ups are not: each counts as a run of the first round.
    """
    runs = defaultdict(list)
    for row in _rows():
        begun = datetime.fromisoformat(row["started_at"]).timestamp()
        runs[row["scenario"]].append((begun, float(row["time_wall_clock"]), row["round"]))
    return {
        name: max(begun + took for begun, took, _ in of)
        - min(begun for begun, _, _ in of)
        + sum(took for _, took, number in of if number == "1")
        for name, of in runs.items()
    }


def _rows() -> list[dict[str, str]]:
    with (SAMPLE / "runs.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["outcome"] == "ok"]


if __name__ == "__main__":
    main()
