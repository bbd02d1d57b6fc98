"""Scenarios: a worker with fixed parameters, and what to expect of a run of it."""

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
"""What an environment may be able to do, each with the end of a sentence: "it cannot …"."""


LAUNCHER = "launcher"
"""The kind of topology that an engine's own launcher makes."""


@dataclass(frozen=True)
class Topology:
    """How the processes of a run are started."""

    kind: str
    """One of the engine's.

    ``single``: one process; ``cluster``: N of them, as in production; ``launcher``: its own.
    """
    processes: int = 1
    workers: int = 1
    """Worker threads of each process."""

    def __str__(self) -> str:
        plural = "es" if self.processes != 1 else ""
        processes = "" if self.kind == "single" else f", {self.processes} process{plural}"
        return self.kind + processes + (f" × {self.workers} workers" if self.workers > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A worker with fixed parameters. This class answers for one of which nothing is known."""

    name: str
    purpose: str
    parameters: Parameters = field(default_factory=dict)
    """What the worker is given, and what identifies it."""
    by_default: bool = True
    """Whether it runs when no ``--scenario`` is given."""
    large_changes_only: bool = False
    """Whether the gate asks it for large rises only, in few rounds; it does so by default.

    Such are a long silence and the engine's own launcher: their rounds are long or noisy, and what
    breaks there costs a multiple."""
    topology: Topology | None = None
    """How its processes are started, where that is part of it."""
    is_own: bool = True
    """Whether it is one of ours, which report what they do; a user's dataflow need not."""
    is_observed: bool = True
    """Whether its runs may report what they do, by the probe in dataflows/support."""
    is_command: bool = False
    """Whether a worker file describes it, and not a dataflow."""
    scan: ScanPoint | None = None
    """Its place on a curve, if it is one of a scan."""

    @property
    def settable(self) -> tuple[str, ...]:
        """The parameters that may be set."""
        return ()

    @property
    def waits(self) -> bool:
        """Whether its input makes the workers wait: items are due over time, or it is silent."""
        return False

    @property
    def idles(self) -> bool:
        """Whether revisions may run side by side, as there is nothing to do for most of a run."""
        return False

    @property
    def works(self) -> bool:
        """Whether it has heavy work to do, whose CPU dwarfs that of any waiting."""
        return False

    @property
    def needs(self) -> frozenset[str]:
        """Capabilities without which a revision cannot run it."""
        return frozenset()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that a run of it may give."""
        return METRICS

    @property
    def lacks(self) -> Mapping[str, str]:
        """Keys of metrics that its runs do not give, and what would mend that."""
        return {}

    @property
    def expected_s(self) -> float:
        """Roughly how long a run takes, for the time left and the time limit; not a measurement."""
        return 60.0

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        return 30 + 5 * self.expected_s

    def started_as(self, asked: Topology) -> Topology:
        """How its processes are started in a comparison that asks for a topology."""
        return self.topology or asked

    @property
    def has_window(self) -> bool:
        """Whether it is known how long it waits; otherwise a run of it finds that out."""
        return True

    def shortened(self) -> "Scenario":
        """The same as the gate has it, unless that is asked for full length."""
        return self

    def warmed_up(self) -> "Scenario":
        """The same as a warm-up has it, of which nothing is kept: no longer than the gate's."""
        return min(self, self.shortened(), key=lambda one: one.expected_s)

    def lasting(self, seconds: float) -> "Scenario":
        """The same, waiting for so many seconds at least, where it can be told to."""
        return self

    def watched_for(self, seconds: float) -> "Scenario":
        """The same, waiting for just so many seconds, where it is told when to end."""
        return self

    def expected_items(self, topology: Topology) -> int | None:
        """How many items must come out of a run; ``None`` where nobody knows."""
        return None

    def written_metrics(self, paths: Sequence[Path]) -> Mapping[str, float]:
        """The metrics that a run itself writes, by key: out of the files of each of its copies.

        Raises ``ValueError`` with a sentence for what is missing or damaged.
        """
        return {}
