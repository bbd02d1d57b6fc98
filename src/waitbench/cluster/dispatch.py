"""Who does which unit next. Pure: no clock, no network.

A unit is given to a machine only when that is free, so that none waits behind a slow one; units
come in their order, the longest first if that is theirs. One whose machine was lost is begun anew
elsewhere; one that a machine cannot do is tried on the others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from waitbench.cluster.units import MOST_ATTEMPTS, Machine, Unit


class Dispatch:
    """The units of a comparison, and what became of them so far."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._pending = list(units)
        self._running: dict[str, tuple[Unit, Machine]] = {}
        self._lost: dict[str, int] = {}
        self._refused: dict[str, dict[str, str]] = {}
        self._unfit: dict[str, str] = {}
        """Why machines can do no unit at all, by name."""
        self._failures: dict[str, str] = {}

    @property
    def failures(self) -> Mapping[str, str]:
        """Why units could not be done, by name."""
        return self._failures

    @property
    def is_over(self) -> bool:
        return not self._pending and not self._running

    def next_for(self, machines: Collection[Machine]) -> Iterator[tuple[Unit, Machine]]:
        """What is to be begun now, each on a machine that is free; it counts as begun."""
        busy = {machine.address for _, machine in self._running.values()}
        for machine in machines:
            unit = next((one for one in self._pending if self._may(one, machine)), None)
            if machine.address not in busy and unit is not None:
                self._pending.remove(unit)
                self._running[unit.name] = unit, machine
                yield unit, machine

    def is_stuck(self, machines: Collection[Machine]) -> bool:
        """Whether there is work, and nobody who does any or may do any."""
        possible = any(self._may(unit, one) for unit in self._pending for one in machines)
        return bool(self._pending) and not self._running and not possible

    def finished(self, unit: Unit) -> None:
        del self._running[unit.name]

    def lost(self, unit: Unit) -> None:
        """Its machine is gone, or whatever ran there."""
        _, machine = self._running.pop(unit.name)
        self._lost[unit.name] = self._lost.get(unit.name, 0) + 1
        if self._lost[unit.name] < MOST_ATTEMPTS:
            self._pending.insert(0, unit)
        else:
            self._failures[unit.name] = (
                f"the workers of {MOST_ATTEMPTS} attempts were lost, the last on {machine.name}"
            )

    def refused(self, unit: Unit, why: str, *, everything: bool = False) -> None:
        """Its machine cannot do it, or cannot do any."""
        _, machine = self._running.pop(unit.name)
        refusals = self._unfit if everything else self._refused.setdefault(unit.name, {})
        refusals[machine.name] = why
        self._pending.append(unit)

    def give_up(self) -> None:
        """Nobody will come who could do what is left."""
        for unit in self._pending:
            refusals = {**self._refused.get(unit.name, {}), **self._unfit}
            said = "; ".join(
                f"{name}: {why}" for name, why in refusals.items() if unit.machine in (None, name)
            )
            self._failures[unit.name] = said or f"there is no worker {unit.machine or ''}".rstrip()
        self._pending.clear()

    def _may(self, unit: Unit, machine: Machine) -> bool:
        refused = machine.name in {**self._refused.get(unit.name, {}), **self._unfit}
        return unit.machine in (None, machine.name) and not refused
