"""Scenarios: a worker with fixed parameters, and expectations of its runs."""

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
"""Features of some revisions, each with the end of a sentence: "it cannot …"."""

LAUNCHER = "launcher"

_TOPOLOGY = re.compile(r"(.+?)(?:, (\d{1,6}) process(?:es)?)?(?: × (\d{1,6}) workers)?")


class Topology(str):
    """The number of processes of a run, and how they are started; as text in result files."""

    kind: str
    """One of the engine's, such as ``single``, ``cluster`` (as in production) or ``launcher``."""
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
    """The place of a scenario among those that differ in one parameter alone."""

    scenario: FileName
    parameter: FileName
    value: Quantity

    @property
    def curve(self) -> tuple[str, str]:
        return self.scenario, self.parameter


class Scenario(Struct, frozen=True, kw_only=True, rename={"name": "scenario"}):
    """A worker with fixed parameters: the fields are stored in result files.

    Engines derive from it, and add how it runs. The defaults suit a worker about which nothing is
    known.
    """

    name: FileName
    parameters: Parameters = {}
    waits: bool = False
    works: bool = False
    """Whether the CPU of its work dwarfs that of any waiting."""
    large_changes_only: bool = False
    """Whether few rounds suffice, as they are long or noisy, and defects multiply the cost."""
    topology: Topology | None = None
    scan: CurvePoint | None = None
    machine: Mapping[str, object] | None = None
    """Overrides the machine of the comparison."""
    metrics: tuple[Metric, ...] = METRICS

    is_builtin: ClassVar[bool] = True
    """Whether it is ours rather than a user's dataflow."""
    is_staggered: ClassVar[bool] = False
    """Whether concurrent runs start and end in turn and share one window; else they run freely.

    Only the former may be of several scenarios."""
    fewest_concurrent_rounds: ClassVar[int] = 1
    """More than 1 where runs may collide, as on a fixed port: one round may not show it."""
    most_concurrent_rounds: ClassVar[int] = 4

    @property
    def by_default(self) -> bool:
        return True

    @property
    def is_observed(self) -> bool:
        """Whether its runs may report metrics, by the probe in dataflows/support."""
        return True

    @property
    def settable(self) -> tuple[str, ...]:
        return ()

    def with_parameters(self, parameters: Parameters) -> "Scenario":
        return replace(self, parameters={**self.parameters, **parameters})

    @property
    def idles(self) -> bool:
        """Whether its workers idle for most of a run, so that revisions may run concurrently."""
        return False

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def lacks(self) -> Mapping[str, str]:
        """Remedies by the keys of the metrics that its runs lack."""
        return {}

    @property
    def expected_s(self) -> float:
        """A rough estimate of the length of a run, for the time left and the time limit."""
        return 60.0

    @property
    def time_limit_s(self) -> float:
        return 30 + 5 * self.expected_s

    def started_as(self, default: Topology) -> Topology:
        return self.topology or default

    @property
    def window_s(self) -> float:
        """The length of a window that its parameters set, or 0."""
        return 0.0

    @property
    def has_window(self) -> bool:
        """Whether the length of its window is known; otherwise a run measures it."""
        return True

    def shortened(self) -> "Scenario":
        """The variant for the gate, unless full length is requested."""
        return self

    def warmed_up(self) -> "Scenario":
        """The variant for a warm-up: no longer than the gate's."""
        return min(self, self.shortened(), key=lambda it: it.expected_s)

    def lasting(self, seconds: float) -> "Scenario":
        """The variant that waits for at least so many seconds, if its window can be set."""
        return self

    def watched_for(self, seconds: float) -> "Scenario":
        """The variant that waits for exactly so many seconds, if its end can be set."""
        return self

    def expected_items(self, topology: Topology) -> int | None:
        return None

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        """The metrics that the copies of a worker wrote, by key. Raises ``ValueError``."""
        return {}
