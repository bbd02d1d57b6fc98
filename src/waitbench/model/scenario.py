"""Scenarios: a dataflow with fixed parameters, and what to expect of a run of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from waitbench.model.metrics import METRICS, SEEN_FROM_OUTSIDE, Metric
from waitbench.model.scan import ScanPoint

Value = int | float | bool | str
Parameters = Mapping[str, Value]

NEXT_AWAKE = "next-awake"
WINDOW = "window"
ALARM = "alarm"
COMMAND = "command"
CAPABILITIES = {
    NEXT_AWAKE: "say when a source is to be asked next",
    WINDOW: "hold items in a window of time",
    ALARM: "wake a step at a time that it asks for",
    COMMAND: "run as a command that a worker file describes",
}
"""What an environment may be able to do, each with the end of a sentence: "it cannot …"."""

MOST_READING_WORKERS = 16
"""Workers that read input in the families with a source a worker: more would only add start-up."""


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

    @property
    def worker_count(self) -> int:
        return self.processes * self.workers

    @property
    def reading_workers(self) -> int:
        """Workers that have a source, where each of the first so many has one."""
        return min(self.worker_count, MOST_READING_WORKERS)

    def __str__(self) -> str:
        plural = "es" if self.processes != 1 else ""
        processes = "" if self.kind == "single" else f", {self.processes} process{plural}"
        return self.kind + processes + (f" × {self.workers} workers" if self.workers > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server that a run needs, started before it and stopped after it."""

    name: str
    command: Callable[[int, Path, Path], Sequence[str]]
    """Its command line, given its port, its folder, and the interpreter of what is measured."""
    is_up: Callable[[int], bool]
    """Whether it is up, by its port."""
    counting: Callable[[int, Path, Path], Sequence[str]] | None = None
    """The command line that prints what it has counted, as ``NAME VALUE``, given the same."""
    require: Callable[[], None] = field(default=lambda: None)
    """Raises ``HarnessError`` where its program is missing, with what would install it."""
    ready_within_s: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Family:
    """What the scenarios of one dataflow module have in common."""

    name: str
    items: Callable[[Parameters, Topology], int | None]
    """How many items must come out of a run; ``None`` where nobody knows."""
    lasts_s: Callable[[Parameters], float]
    """Roughly how long a run takes; never a measurement."""
    longest_s: Callable[[Parameters], float] | None = None
    """After how long a run counts as hung, where that is known."""
    metrics: tuple[Metric, ...] = ()
    """What it measures beyond what every run gives."""
    metrics_of: Callable[[Mapping[str, float]], Mapping[str, float]] = field(
        default=lambda _totals: {}
    )
    """A run's own metrics, by key, out of the totals that the launcher tells."""
    metrics_written: Callable[[Sequence[Path]], Mapping[str, float]] | None = None
    """The metrics that a run itself writes, by key: out of the files of each of its copies.

    Raises ``ValueError`` with a sentence for what is missing or damaged."""
    requirements: tuple[str, ...] = ()
    """Packages that its workloads need besides the engine, pinned, as pip takes them."""
    services: Callable[[Parameters], Sequence[Service]] = field(default=lambda _parameters: ())
    """The servers of a run, in the order in which they start; their CPU is not the run's."""
    waits: Callable[[Parameters], bool] = field(default=lambda _parameters: False)
    """Whether a run's input makes the workers wait: items are due over time, or it is silent."""
    works: Callable[[Parameters], bool] = field(default=lambda _parameters: False)
    """Whether a run has heavy work to do, whose CPU dwarfs that of any waiting."""
    needs: Callable[[Parameters], frozenset[str]] = field(default=lambda _parameters: frozenset())
    """Capabilities without which a revision cannot run them."""
    why_senseless: Callable[[Parameters], str | None] = field(default=lambda _parameters: None)
    """Why parameters contradict each other; ``None`` where they do not."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Keys of metrics that its runs do not give, and what would mend that."""
    without: frozenset[str] = frozenset()
    """Keys of metrics that mean nothing of its runs."""
    quick: Mapping[str, str] = field(default_factory=dict)
    """Settings that shorten its scenarios for the gate."""
    lengthened: Callable[[Parameters, float], Parameters] = field(
        default=lambda parameters, _seconds: parameters
    )
    """The parameters with which a run waits for so many seconds at least, where that can be."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One dataflow with fixed parameters."""

    name: str
    purpose: str
    family: Family
    module: Path
    call: str = "get_flow"
    """The function in the module; or, for a user's dataflow, all of what follows its ``:``."""
    parameters: Parameters = field(default_factory=dict)
    """What the call is given; of a user's dataflow, what identifies it."""
    by_default: bool = True
    """Whether it runs when no ``--scenario`` is given."""
    coarse: bool = False
    """Whether the gate asks it for large rises only, in few rounds; it does so by default.

    Such are a long silence and the engine's own launcher: their rounds are long or noisy, and what
    breaks there costs a multiple."""
    topology: Topology | None = None
    """How its processes are started, where that is part of it."""
    is_own: bool = True
    """Whether it is one of ours, which report what they do; a user's dataflow need not."""
    is_observed: bool = True
    """Whether its runs may report what they do, by the probe in dataflows/support."""
    scan: ScanPoint | None = None
    """Its place on a curve, if it is one of a scan."""
    quick: Mapping[str, str] = field(default_factory=dict)
    """Settings that shorten it for the gate, beside or instead of its family's."""

    @property
    def waits(self) -> bool:
        """Whether its input makes the workers wait."""
        return self.family.waits(self.parameters)

    @property
    def works(self) -> bool:
        """Whether it has heavy work to do, whose CPU dwarfs that of any waiting."""
        return self.family.works(self.parameters)

    @property
    def needs(self) -> frozenset[str]:
        """Capabilities without which a revision cannot run it."""
        return self.family.needs(self.parameters)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that a run of it may give."""
        seen = METRICS if self.is_observed else SEEN_FROM_OUTSIDE
        found = (*seen, *self.family.metrics)
        without = {*self.family.lacks, *self.family.without}
        return tuple(metric for metric in found if metric.key not in without)

    @property
    def is_command(self) -> bool:
        """Whether a worker file describes it, and not a dataflow."""
        return COMMAND in self.needs

    @property
    def import_string(self) -> str:
        """What the engine is given to run, such as ``…/flow.py:get_flow(long_input=True)``."""
        if not self.is_own:
            return f"{self.module}:{self.call}"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.module}:{self.call}({arguments})"

    def started_as(self, asked: Topology) -> Topology:
        """How its processes are started in a comparison that asks for a topology."""
        return self.topology or asked

    def lasting(self, seconds: float) -> "Scenario":
        """The same, waiting for so many seconds at least, where it can be told to."""
        return replace(self, parameters=self.family.lengthened(self.parameters, seconds))

    def expected_items(self, topology: Topology) -> int | None:
        """How many items must come out of a run; ``None`` where nobody knows."""
        return self.family.items(self.parameters, self.started_as(topology))

    @property
    def expected_s(self) -> float:
        """Roughly how long a run takes, for the time left and the time limit; not a measurement."""
        return self.family.lasts_s(self.parameters)

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        if self.family.longest_s is not None:
            return 30 + self.family.longest_s(self.parameters)
        return 30 + 5 * self.expected_s
