"""Scenarios: workers with fixed parameters, and expectations of their runs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from waitbench.model.metrics import METRICS, FileName, Metric, Quantity

Value = int | float | bool | str
Parameters = Mapping[str, Value]

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
    """A scenario's place on a curve, whose scenarios differ in one parameter."""

    scenario: FileName
    parameter: FileName
    value: Quantity

    @property
    def curve(self) -> tuple[str, str]:
        return self.scenario, self.parameter


class Scenario(Struct, frozen=True, kw_only=True, rename={"name": "scenario"}):
    """A worker with fixed parameters. The fields are stored in result files.

    The defaults suit a worker of which nothing is known; subclasses of engines override them.
    """

    name: FileName
    parameters: Parameters = {}
    waits: bool = False
    """Whether it waits within its window."""
    works: bool = False
    """Whether its work takes far more CPU than any waiting."""
    large_changes_only: bool = False
    """Whether it gets few rounds, which show large changes only, because runs are long or noisy."""
    topology: Topology | None = None
    scan: CurvePoint | None = None
    machine: Mapping[str, object] | None = None
    """The machine that measured it, if not that of the comparison."""
    metrics: tuple[Metric, ...] = METRICS

    is_staggered: ClassVar[bool] = False
    """Whether concurrent runs start and end one by one, with a common window between.

    Only these may be runs of several scenarios.
    """
    fewest_concurrent_rounds: ClassVar[int] = 1
    """The least number of rounds at a time. Two show whether runs collide, as on a fixed port."""
    most_concurrent_rounds: ClassVar[int] = 4
    """The greatest number of rounds at a time."""

    @property
    def by_default(self) -> bool:
        return True

    @property
    def is_observed(self) -> bool:
        """Whether its runs may report metrics by the probe in dataflows/support."""
        return True

    @property
    def settable(self) -> tuple[str, ...]:
        """The parameters that ``--set`` accepts."""
        return ()

    def with_parameters(self, parameters: Parameters) -> "Scenario":
        return replace(self, parameters={**self.parameters, **parameters})

    @property
    def idles(self) -> bool:
        """Whether its workers are idle for most of a run, so that runs may be concurrent."""
        return False

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities that a revision needs."""
        return frozenset()

    @property
    def lacks(self) -> Mapping[str, str]:
        """The keys of metrics that its runs lack, each with a remedy."""
        return {}

    @property
    def expected_s(self) -> float:
        """A rough estimate of the length of a run."""
        return 60.0

    @property
    def staggered_s(self) -> float:
        """The part of the expected time that concurrent runs spend one after the other."""
        return 0.0

    @property
    def time_limit_s(self) -> float:
        return 30 + 5 * self.expected_s

    def started_as(self, default: Topology) -> Topology:
        return self.topology or default

    @property
    def window_s(self) -> float:
        """The length of the window if a parameter sets it, else 0."""
        return 0.0

    @property
    def has_window(self) -> bool:
        """Whether the length of its window is known; else a run measures a suitable one."""
        return True

    def shortened(self) -> "Scenario":
        """The shorter variant that the gate uses by default."""
        return self

    def warmed_up(self) -> "Scenario":
        """The variant for a warm-up: no longer than the gate's."""
        return min(self, self.shortened(), key=lambda scenario: scenario.expected_s)

    def lasting(self, seconds: float) -> "Scenario":
        """The variant with a window of at least this length; unchanged if it cannot be set."""
        return self

    def watched_for(self, seconds: float) -> "Scenario":
        """The variant with a window of exactly this length; unchanged if it cannot be set."""
        return self

    def expected_items(self, topology: Topology) -> int | None:
        """The number of items that each run must give out; ``None`` if unknown."""
        return None

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        """The metrics that the copies of a worker wrote, by key. Raises ``ValueError``."""
        return {}
