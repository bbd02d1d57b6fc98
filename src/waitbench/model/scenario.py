"""Scenarios: workers with fixed parameters, and the expected length and results of runs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from waitbench.model.metrics import METRICS, FileName, Metric, Quantity

Value = int | float | bool | str
Parameters = Mapping[str, Value]

RATE = "rate"
"""The parameter of a worker file's scenario that is its number of messages a second."""
NEXT_AWAKE = "next-awake"
ALARM = "alarm"
CAPABILITIES = {
    NEXT_AWAKE: "say when a source is to be asked next",
    ALARM: "wake a step at a time that it asks for",
}
"""Features that some revisions lack, each with the end of the sentence "it cannot …"."""

LAUNCHER = "launcher"

_TOPOLOGY = re.compile(r"(.+?)(?:, (\d{1,6}) process(?:es)?)?(?: × (\d{1,6}) workers)?")


class Topology(str):
    """The processes of a run: how they are started, and how many. Result files have it as text."""

    kind: str
    """One of the engine's topologies, such as ``single``, ``cluster`` or ``launcher``."""
    processes: int
    workers: int
    """The number of worker threads of each process."""

    def __new__(cls, kind: str, processes: int = 1, workers: int = 1) -> "Topology":
        plural = "es" if processes != 1 else ""
        counted = "" if kind == "single" else f", {processes} process{plural}"
        text = kind + counted + (f" × {workers} workers" if workers > 1 else "")
        topology = super().__new__(cls, text)
        topology.kind, topology.processes, topology.workers = kind, processes, workers
        return topology

    @classmethod
    def parse(cls, text: str) -> "Topology":
        match = _TOPOLOGY.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a topology")
        return cls(match[1], int(match[2] or 1), int(match[3] or 1))


class CurvePoint(Struct, frozen=True, kw_only=True):
    """The place of a scenario in a scan, whose scenarios differ in one parameter."""

    scenario: FileName
    parameter: FileName
    value: Quantity

    @property
    def curve(self) -> tuple[str, str]:
        return self.scenario, self.parameter


class Scenario(Struct, frozen=True, kw_only=True, rename={"name": "scenario"}):
    """A kind of work with fixed parameters, the same for all revisions; stored in result files.

    The defaults suit a worker of which nothing is known; the engines' subclasses override them.
    """

    name: FileName
    parameters: Parameters = {}
    waits: bool = False
    """Whether it waits within its window."""
    works: bool = False
    """Whether its work takes far more CPU than waiting could."""
    large_changes_only: bool = False
    """Whether it gets few rounds, which show large changes only, as runs are long or noisy."""
    topology: Topology | None = None
    """``None``: that of the comparison."""
    scan: CurvePoint | None = None
    machine: Mapping[str, object] | None = None
    """The machine that measured it; ``None``: that of the comparison."""
    metrics: tuple[Metric, ...] = METRICS

    is_staggered: ClassVar[bool] = False
    """Whether concurrent runs start and end one by one, with a common window between.

    Only such runs can be concurrent with runs of other scenarios.
    """
    most_concurrent_rounds: ClassVar[int] = 4

    @property
    def fewest_concurrent_rounds(self) -> int:
        """Fewer rounds are not made concurrently.

        If two runs of one revision collide, as workers may on a port, none is blamed for it.
        """
        return 2 if self.is_staggered else 1

    @property
    def by_default(self) -> bool:
        """Whether it is measured if no scenario is named."""
        return True

    @property
    def settable(self) -> tuple[str, ...]:
        """The parameters that ``--set`` accepts."""
        return ()

    def with_parameters(self, parameters: Parameters) -> "Scenario":
        return replace(self, parameters={**self.parameters, **parameters})

    @property
    def is_mostly_idle(self) -> bool:
        """Whether its workers are idle for most of a run, so that runs may be concurrent."""
        return False

    @property
    def services(self) -> int:
        """The number of services, such as a broker, that each of its runs has for itself."""
        return 0

    @property
    def needs(self) -> frozenset[str]:
        """The ``CAPABILITIES`` that a revision must have to run it."""
        return frozenset()

    @property
    def lacks(self) -> Mapping[str, str]:
        """The keys of metrics that its runs lack, each with a remedy."""
        return {}

    @property
    def expected_s(self) -> float:
        """A rough estimate of the length of a run, in seconds."""
        return 60.0

    @property
    def time_limit_s(self) -> float:
        return 30 + 5 * self.expected_s

    def topology_in(self, comparison: Topology) -> Topology:
        """The topology of its runs, given that of the comparison."""
        return self.topology or comparison

    @property
    def window_s(self) -> float:
        """The length of the window if a parameter sets it, else 0."""
        return 0.0

    def shortened(self) -> "Scenario":
        """The shorter variant that the gate uses by default."""
        return self

    def for_warm_up(self) -> "Scenario":
        """The variant for a warm-up, which is not longer than the gate's."""
        return min(self, self.shortened(), key=lambda scenario: scenario.expected_s)

    def with_least_window(self, seconds: float) -> "Scenario":
        """The variant with a window of at least this length; unchanged if it cannot be set."""
        return self

    def expected_items(self, topology: Topology) -> int | None:
        """The number of items that must come out in each run; ``None`` if unknown."""
        return None

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        """Reads metrics, by key, from files of copies of a worker. Raises ``ValueError``."""
        return {}
