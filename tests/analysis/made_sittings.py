"""Made-up sittings, of revisions whose costs are known."""

import random
from collections.abc import Mapping, Sequence

from waitbench.analysis import network
from waitbench.analysis.network import Between, Network, connected
from waitbench.analysis.sittings import Sitting, sitting


def join(sittings: Sequence[Sitting], anchor: str, between: Between) -> Network:
    """The network of some sittings of one scenario."""
    return network.join(connected(sittings), anchor, between)


def between_of(scenarios: Sequence[Sequence[Sitting]]) -> Between:
    """How ratios of some scenarios differ from sitting to sitting."""
    return network.between_of(group for sittings in scenarios for group in connected(sittings))


def made(
    name: str,
    costs: Mapping[str, float],
    *,
    rounds: int = 5,
    noise: float = 0.0,
    drift: float = 0.0,
    between: float = 0.0,
    machine: str = "m",
) -> Sitting:
    """A sitting in which all costs are ``drift`` higher, each off by ``between``, runs by noise.

    All are logarithms; the chance is the name's.
    """
    chance = random.Random(f"sitting {name}")
    off = {revision: log + drift + chance.gauss(0, between) for revision, log in costs.items()}
    runs = [[log + chance.gauss(0, noise) for log in off.values()] for _ in range(rounds)]
    found = sitting(name, machine, tuple(costs), runs)
    assert found is not None
    return found


def tracked(
    costs: Sequence[float],
    *,
    name: str = "",
    noise: float = 0.05,
    between: float = 0.01,
    machines: Sequence[str] = ("m",),
    anchor_off: Mapping[str, float] | None = None,
) -> list[Sitting]:
    """What a nightly job measures: each revision with the first, and with the one before it.

    Revisions are r0, r1, …; the machine is up to twice as fast or slow each night. ``machines`` are
    those of the first nights, the last one that of all others; on some of them the anchor, r0, is
    off by a logarithm.
    """
    chance = random.Random(f"tracked {name}")
    found = []
    for night in range(1, len(costs)):
        numbers = sorted({0, night - 1, night})
        machine = machines[min(night, len(machines)) - 1]
        own = [(anchor_off or {}).get(machine, 0.0), *costs[1:]]
        found.append(
            made(
                f"{name} {night}",
                {f"r{number}": own[number] for number in numbers},
                drift=chance.uniform(-0.69, 0.69),
                noise=noise,
                between=between,
                machine=machine,
            )
        )
    return found
