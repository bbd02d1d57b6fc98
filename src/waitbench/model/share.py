"""Shares: which scenarios of a comparison are measured here, where others are measured elsewhere.

What is never parted is a round: whoever measures a scenario measures all its revisions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from waitbench.model.errors import UsageError

_SHARD = re.compile(r"(?P<index>[0-9]{1,6})/(?P<number>[0-9]{1,6})")


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured here of a comparison."""

    scenarios: tuple[str, ...]
    """The names of those measured here."""
    of: tuple[str, ...]
    """The names of all, in the comparison's order."""
    index: int | None = None
    """From 1; ``None`` where it is the whole."""
    number: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is measured elsewhere."""
        return set(self.scenarios) == set(self.of)

    @property
    def title(self) -> str:
        """What people call it."""
        return f"Share {self.index} of {self.number}"


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One of so many shares of about equal length, as ``--shard`` asks for it."""

    index: int
    """From 1."""
    number: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Reads ``I/N``. Raises ``UsageError`` that says what would be right."""
        match = _SHARD.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--shard {text!r} is not I/N, such as 1/3: the first of three.")
        found = cls(index=int(match["index"]), number=int(match["number"]))
        if not 1 <= found.index <= found.number:
            raise UsageError(f"--shard {text!r}: the first number must be from 1 to the second.")
        return found

    def of(self, expected_s: Mapping[str, float]) -> Share:
        """This share of scenarios, given as how long a run of each takes, by name.

        The longest comes first and goes to whoever has least to do until then (R. Graham, "Bounds
        on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969), so that everybody who
        asks finds the same shares. Raises ``UsageError`` where there are fewer scenarios.
        """
        if self.number > len(expected_s):
            fewer = "1 scenario" if len(expected_s) == 1 else f"{len(expected_s)} scenarios"
            raise UsageError(
                f"--shard {self.index}/{self.number}: there are only {fewer}, and a share has at "
                "least one."
            )
        mine = _dealt(expected_s, self.number)[self.index - 1]
        return Share(
            scenarios=tuple(name for name in expected_s if name in mine),
            of=tuple(expected_s),
            index=self.index,
            number=self.number,
        )


WHOLE = Shard(index=1, number=1)


def _dealt(expected_s: Mapping[str, float], number: int) -> Sequence[set[str]]:
    """The names, in so many sets that take about equally long."""
    dealt: list[set[str]] = [set() for _ in range(number)]
    load_s = [0.0] * number
    # Sorting keeps the comparison's order where two take as long.
    for name in sorted(expected_s, key=lambda name: -expected_s[name]):
        least = min(range(number), key=lambda one: (load_s[one], len(dealt[one]), one))
        dealt[least].add(name)
        load_s[least] += expected_s[name]
    return dealt
