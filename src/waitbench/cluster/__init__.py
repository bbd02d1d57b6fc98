"""The same on other machines: what a unit of a comparison is, and who carries it out.

A unit is one scenario with all its revisions: its rounds stay on one machine. It gets its order as
a line (``cluster.orders``), its results are a folder, and it says how far it is in lines: those of
its journals as they are, and others for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

RESULTS, WHEELS = "results", "wheels"
"""The folders of a unit: what it gives, and the wheels that it is given, by digest."""
REFUSED, MACHINE_REFUSED = (2, 3), 4
"""What a unit's process ends with where its machine cannot do it, or cannot do any unit."""
JOURNAL_MARK = "\x1e"
"""What a line begins with that is one of a journal, and not for people (as in RFC 7464)."""
MOST_ATTEMPTS = 3
"""How often a unit is begun whose worker is lost, until it is given up."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine that carries out units, one at a time."""

    name: str
    """Unique among those that there are."""
    address: str
    version: str
    """That of waitbench there, see ``system.installation``."""
    host: str
    """Machines of one host measure in turn."""
    instruments: frozenset[str]
    """The metrics that only instrumented runs give, as far as there are any there."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What one machine does without a break."""

    name: str
    """Unique among those of a comparison."""
    order: str
    """What to do, in one line."""
    wheels: tuple[str, ...] = ()
    """Digests of the wheels that it needs and that an index does not have."""
    machine: str | None = None
    """The name of the only machine that may do it; ``None`` if any may."""


class Listener(Protocol):
    """Who is told what the machines do, always in the same thread."""

    def accepts(self, machine: Machine) -> bool:
        """Whether a machine that is there may be used."""

    def begun(self, unit: Unit, machine: Machine) -> None:
        """A unit is begun, or begun anew: what was told of it before is void."""

    def told(self, unit: Unit, machine: Machine, line: str) -> None:
        """A unit says how far it is. A line may be lost."""

    def finished(self, unit: Unit, files: Mapping[str, bytes]) -> None:
        """A unit is finished, with these files as its results."""

    def lost(self, unit: Unit, why: str) -> None:
        """What was begun of a unit is void, and is begun anew elsewhere."""

    def silent(self, machine: str, for_s: float) -> None:
        """A machine has not answered for so long; or answers again, where that is 0."""

    def is_over(self) -> bool:
        """Whether nothing more need be done at all."""


class Machines(Protocol):
    """Machines that carry out units."""

    def all(self) -> Sequence[Machine]:
        """Those that there are now. Raises ``HarnessError`` where there is none."""

    def carry_out(
        self, units: Sequence[Unit], wheels: Mapping[str, bytes], listener: Listener
    ) -> Mapping[str, str]:
        """Has every unit done, the first ones first, and tells of it.

        ``wheels`` are those that units need, by digest. Returns why units could not be done, by
        name. Raises ``HarnessError`` where the machines are lost; what finished was told before.
        """
