"""What a scenario is: a dataflow with fixed parameters, and what to expect of a run of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Value = int | float | bool | str
Parameters = Mapping[str, Value]
Samples = Sequence[Mapping[str, float]]
"""What a workload observed besides: one mapping each, such as a call's time and lines."""

TOPOLOGY_KINDS = ("single", "cluster", "launcher")


@dataclass(frozen=True)
class Topology:
    """How the processes of a run are started."""

    kind: str
    """``single`` (one ``bytewax.run``), ``cluster`` (N of them, as in production) or ``launcher`` (bytewax's own ``-p N``)."""
    processes: int = 1
    workers: int = 1
    """Worker threads of each process."""

    @property
    def worker_count(self) -> int:
        return self.processes * self.workers

    def __str__(self) -> str:
        processes = "" if self.kind == "single" else f", {self.processes} process{'es' * (self.processes != 1)}"
        return self.kind + processes + (f" × {self.workers} workers" if self.workers > 1 else "")


@dataclass(frozen=True)
class ServicePlan:
    """Servers that a workload talks to: an embedding service, and perhaps a proxy before it. Settings by environment variable."""

    embedder: Mapping[str, str] | str = field(default_factory=dict)
    """Or the URL of somebody else's."""
    proxy: Mapping[str, str] | None = None
    """``None``: clients talk to the embedder directly."""


@dataclass(frozen=True)
class Family:
    """What the scenarios of one dataflow module have in common."""

    name: str
    items: Callable[[Parameters, Topology], int | None]
    """How many items must come out of a run; ``None`` where nobody knows."""
    lasts_s: Callable[[Parameters], float]
    """Roughly how long a run takes; never a measurement."""
    requirements: tuple[str, ...] = ()
    """Packages that its workloads need besides bytewax, pinned, as pip takes them."""
    assets: Path | None = None
    """A program that makes what its workloads read, such as a model: run once, with the folder as its argument, before any run."""
    metrics_of: Callable[[Samples, Mapping[str, float]], Mapping[str, float]] = field(default=lambda _samples, _totals: {})
    """A run's own metrics, by key, out of its samples and totals; see dataflows/support/probe.py."""
    services: Callable[[Parameters], ServicePlan] | None = None
    """The servers of a run, started before and stopped after it by the harness; their CPU is not the run's."""
    quick: Mapping[str, str] = field(default_factory=dict)
    """Settings that shorten its scenarios for the check in continuous integration."""


@dataclass(frozen=True)
class Scenario:
    """One dataflow with fixed parameters."""

    name: str
    purpose: str
    family: Family
    module: Path
    call: str = "get_flow"
    """The function in the module; or, for a user's dataflow, all of what follows its ``:``."""
    parameters: Parameters = field(default_factory=dict)
    by_default: bool = True
    """Whether it runs when no ``--scenario`` is given."""
    needs_next_awake: bool = False
    """Whether it needs a bytewax whose sources may say when to be asked next (0.17 and later)."""
    is_own: bool = True
    """Whether it is one of this project's, which report what they do; a user's dataflow need not."""

    @property
    def import_string(self) -> str:
        """What bytewax is given to run, such as ``…/partitioned.py:get_flow(long_input=True)``."""
        if not self.is_own:
            return f"{self.module}:{self.call}"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.module}:{self.call}({arguments})"

    def expected_items(self, topology: Topology) -> int | None:
        """How many items must come out of a run; ``None`` where nobody knows."""
        return self.family.items(self.parameters, topology)

    @property
    def expected_s(self) -> float:
        """Roughly how long a run takes, for the time left and the time limit; never a measurement."""
        return self.family.lasts_s(self.parameters)

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        return 30 + 5 * self.expected_s
