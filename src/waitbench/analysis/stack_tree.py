"""Where revisions wait and work -> a tree of all stacks, as flame graphs show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from waitbench.analysis.why import Cost, cost_of, unnumbered
from waitbench.model.why import NATIVE, Place, Why


@dataclass
class Node:
    """One function within its callers, and what it costs each revision with all below it."""

    name: str
    kind: str = NATIVE
    costs: list[Cost] = field(default_factory=list)
    below: dict[str, "Node"] = field(default_factory=dict)

    def add(self, number: int, cost: Cost) -> None:
        """Adds what one revision spends there."""
        self.costs[number] = self.costs[number] + cost


def tree(several: Sequence[Why]) -> Node:
    """All stacks of a revision, or of two: processes, their threads, and their functions."""
    root = Node("all", costs=[Cost()] * len(several))
    for number, why in enumerate(several):
        for place in why.places:
            node = root
            node.add(number, cost_of(place))
            for name, kind in _steps(place):
                node = node.below.setdefault(name, Node(name, kind, [Cost()] * len(several)))
                node.add(number, cost_of(place))
    return root


def folded(why: Why) -> dict[str, dict[str, float]]:
    """Its stacks as flame graphs take them, ``outer;…;inner``: wake-ups and CPU by stack."""
    found: dict[str, dict[str, float]] = {"wakeups": {}, "cpu": {}}
    for place in why.places:
        steps = (name.replace(";", ",") for name, _ in _steps(place))
        stack = ";".join(steps)
        for name, amount in (("wakeups", place.wakeups_per_s), ("cpu", place.cpu_share)):
            if amount:
                found[name][stack] = found[name].get(stack, 0.0) + amount
    return found


THREAD = "thread"


def _steps(place: Place) -> Iterator[tuple[str, str]]:
    """What stands on a stack, the outermost first, and of which kind it is."""
    yield place.process, THREAD
    yield unnumbered(place.thread), THREAD
    for frame in place.stack:
        yield (f"{frame.name} ({frame.file})" if frame.file else frame.name), frame.kind
