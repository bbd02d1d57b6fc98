"""Scenarios: a worker with fixed parameters, and expectations of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.model.metrics import METRICS, Metric
from waitbench.model.scan import ScanPoint

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


@dataclass(frozen=True)
class Topology:
    """The number of processes of a run, and how they are started."""

    kind: str
    """One of the engine's, such as ``single``, ``cluster`` (as in production) or ``launcher``."""
    processes: int = 1
    workers: int = 1

    def __str__(self) -> str:
        plural = "es" if self.processes != 1 else ""
        processes = "" if self.kind == "single" else f", {self.processes} process{plural}"
        return self.kind + processes + (f" × {self.workers} workers" if self.workers > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A worker with fixed parameters. The defaults suit a worker about which nothing is known."""

    name: str
    purpose: str
    parameters: Parameters = field(default_factory=dict)
    by_default: bool = True
    """Whether it runs when no ``--scenario`` is given."""
    large_changes_only: bool = False
    """Whether few rounds suffice, as they are long or noisy, and defects multiply the cost."""
    topology: Topology | None = None
    is_own: bool = True
    """Whether it is ours rather than a user's dataflow."""
    is_observed: bool = True
    """Whether its runs may report metrics, by the probe in dataflows/support."""
    is_staggered: bool = False
    """Whether concurrent runs start and end in turn and share one window; else they run freely."""
    fewest_concurrent_rounds: int = 1
    """More than 1 where runs may collide, as on a fixed port: one round may not show it."""
    scan: ScanPoint | None = None

    @property
    def settable(self) -> tuple[str, ...]:
        return ()

    @property
    def waits(self) -> bool:
        """Whether its input makes the workers wait."""
        return False

    @property
    def idles(self) -> bool:
        """Whether its workers idle for most of a run, so that revisions may run concurrently."""
        return False

    @property
    def works(self) -> bool:
        """Whether the CPU of its work dwarfs that of any waiting."""
        return False

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return METRICS

    @property
    def lacks(self) -> Mapping[str, str]:
        """Remedies by the keys of the metrics that its runs lack."""
        return {}

    @property
    def expected_s(self) -> float:
        """A rough estimate of the length of a run, for the time left and the time limit."""
        return 60.0

    def concurrent_s(self, runs: int) -> float:
        """Estimates the time of concurrent runs: staggered ones share their windows alone."""
        starts = runs if self.is_staggered else 1
        return self.window_s + starts * (self.expected_s - self.window_s)

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        return 30 + 5 * self.expected_s

    def started_as(self, default: Topology) -> Topology:
        """The topology of its runs in a comparison with a default."""
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
        """The number of items that a run must emit, if known."""
        return None

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        """The metrics that the copies of a worker wrote, by key. Raises ``ValueError``."""
        return {}
