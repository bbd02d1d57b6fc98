"""Shards: parts of a comparison, each measured on a machine of its own.

A shard has whole scenarios with all their revisions: rounds are never split.
"""

import re
from collections.abc import Mapping

import msgspec

from waitbench.model.errors import UsageError

_SHARD = re.compile(r"(?P<index>[0-9]{1,6})/(?P<number>[0-9]{1,6})")


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """One of several shards of similar length (``--shard``), by default the only one."""

    scenarios: tuple[str, ...] = ()
    """Empty until they are dealt."""
    of: tuple[str, ...] = ()
    """All scenarios, in the comparison's order."""
    index: int = 1
    number: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        match = _SHARD.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--shard {text!r} is not I/N, such as 1/3: the first of three.")
        shard = cls(index=int(match["index"]), number=int(match["number"]))
        if not 1 <= shard.index <= shard.number:
            raise UsageError(f"--shard {text!r}: the first number must be from 1 to the second.")
        return shard

    @property
    def is_whole(self) -> bool:
        return self.number == 1

    @property
    def title(self) -> str:
        return f"Shard {self.index} of {self.number}"

    def dealt(self, expected_s: Mapping[str, float]) -> "Shard":
        """Deals scenarios, given the lengths of their runs by name.

        In descending order of length, each goes to the shard with the least load (R. Graham,
        "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969), so that all
        machines agree. Raises ``UsageError`` if there are fewer scenarios than shards.
        """
        if self.number > len(expected_s):
            fewer = "1 scenario" if len(expected_s) == 1 else f"{len(expected_s)} scenarios"
            raise UsageError(
                f"--shard {self.index}/{self.number}: there are only {fewer}, and a shard has at "
                "least one."
            )
        shards: list[set[str]] = [set() for _ in range(self.number)]
        load_s = [0.0] * self.number
        # Sorting keeps the comparison's order among equal lengths.
        for name in sorted(expected_s, key=lambda name: -expected_s[name]):
            least = min(range(self.number), key=lambda at: (load_s[at], len(shards[at]), at))
            shards[least].add(name)
            load_s[least] += expected_s[name]
        names = tuple(name for name in expected_s if name in shards[self.index - 1])
        return msgspec.structs.replace(self, scenarios=names, of=tuple(expected_s))


WHOLE = Shard()
