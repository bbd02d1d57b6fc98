"""Shards of a comparison: reads ``--shard I/N``, and divides scenarios among shards."""

import re
from collections.abc import Mapping

from waitbench.model.errors import UsageError
from waitbench.model.record import ComparisonHeader, Shard

_SHARD = re.compile(r"(?P<index>[0-9]{1,6})/(?P<number>[0-9]{1,6})")


def parse(text: str) -> tuple[int, int]:
    """The index, from 1, and the number of shards. Raises ``UsageError``."""
    match = _SHARD.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--shard {text!r} is not I/N, such as 1/3: the first of three.")
    index, number = int(match["index"]), int(match["number"])
    if not 1 <= index <= number:
        raise UsageError(f"--shard {text!r}: the first number must be from 1 to the second.")
    return index, number


def deal(index: int, count: int, expected_s: Mapping[str, float]) -> Shard:
    """Selects the scenarios of a shard, given the expected time of a run of each scenario.

    Scenarios, the longest first, go to the shard with the least load so far (R. Graham, "Bounds on
    multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969). All machines get the same
    result. Raises ``UsageError`` if there are fewer scenarios than shards.
    """
    if count > len(expected_s):
        fewer = "1 scenario" if len(expected_s) == 1 else f"{len(expected_s)} scenarios"
        raise UsageError(
            f"--shard {index}/{count}: there are only {fewer}, and a shard has at least one."
        )
    shards: list[set[str]] = [set() for _ in range(count)]
    load_s = [0.0] * count
    # The sort is stable: equal lengths keep the order of the comparison.
    for name in sorted(expected_s, key=lambda name: -expected_s[name]):
        least = min(range(count), key=lambda at: (load_s[at], len(shards[at]), at))
        shards[least].add(name)
        load_s[least] += expected_s[name]
    names = tuple(name for name in expected_s if name in shards[index - 1])
    return Shard(scenarios=names, of=tuple(expected_s), index=index, count=count)


def shard_of(comparison: ComparisonHeader) -> Shard:
    """The shard that a comparison measured: all scenarios if it is whole."""
    names = tuple(scenario.name for scenario in comparison.scenarios)
    return comparison.shard or Shard(scenarios=names, of=names)
