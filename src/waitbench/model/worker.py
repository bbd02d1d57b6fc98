"""The tables of worker files, which describe a worker as a command, in TOML.

docs/worker-files.md is the reference; workers/ has examples. engines/worker/file.py checks rules
that types cannot express.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from waitbench.model.conditions import Answer, PokeEnded, Port, Readiness, Words
from waitbench.model.metrics import Quantity

Seconds = Annotated[float, Meta(gt=0, le=3600)]
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
ParameterName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Variant = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
Unit = Annotated[str, Meta(pattern=r"^[^\x00-\x1f]{1,20}$")]
Show = Annotated[str, Meta(pattern=r"^(mean|min|max|total|count|p[1-9][0-9]?)$")]
"""A statistic of the numbers of a run; percentiles are ``p1`` to ``p99``."""
Text = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
VariableName = Annotated[str, Meta(pattern=r"^[^=\x00]+$")]
Values = dict[ParameterName, Quantity | Text]
ACTIONS = ("poke", "stop", "start", "run", "close", "reset")
"""The keys of a phase that name its action."""
UNTIL_EXIT = "until-exit"
"""The value of ``window`` for a command that ends by itself: from being ready to its exit."""


class TomlTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a worker file."""


class ServiceTable(TomlTable, frozen=True, kw_only=True):
    """A server that the worker needs."""

    command: Words
    ready: Readiness = Port(value=True)
    stop: str = "TERM"
    counters: Words = Words()
    """A command that prints ``NAME VALUE`` lines: ``requests``, ``bytes``."""
    install: str = ""
    """A command that installs the program, shown if the program is missing."""


class Poke(TomlTable, frozen=True, kw_only=True):
    """A command that sends the worker a message, by default once, after the window."""

    command: Words
    done: Answer = PokeEnded(value=True)
    rate: Annotated[float, Meta(gt=0, le=100)] | None = None
    """Messages a second, in the window of the additional scenario ``WORKER-at-rate``."""


class Phase(TomlTable, frozen=True, kw_only=True, rename={"window_s": "window"}):
    """A phase, which is also a scenario: its window begins after an action."""

    name: Name
    poke: Literal[True] | None = None
    stop: str | None = None
    start: str | None = None
    run: Words = Words()
    close: Literal["stdin"] | None = None
    reset: Text | None = None
    """A text that a client sends to ``{port}`` before it resets its connection."""
    may_end: bool = False
    """Whether the worker may end in this phase; its run is then neither compared nor a failure."""
    must_end: bool = False
    """Whether the worker must end within the window, which then begins with the action."""
    seconds: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """The time from the action to the window; ``None``: until the worker has settled again."""
    window_s: Seconds | None = None
    """The length of its window; ``None``: that of the worker."""

    def __post_init__(self) -> None:
        if len(self._actions) != 1:
            raise ValueError(f"a phase needs exactly one of {', '.join(ACTIONS)}")

    @property
    def action(self) -> str:
        return self._actions[0]

    @property
    def _actions(self) -> list[str]:
        return [action for action in ACTIONS if getattr(self, action) not in (None, ())]


class Build(TomlTable, frozen=True, kw_only=True):
    """A command that builds a revision, in any language, into the folder ``{prefix}``."""

    command: Words
    versions: Words = Words()
    """A command that prints the releases, oldest first."""
    within: Seconds = 3600.0
    """The time limit."""

    @property
    def takes_source(self) -> bool:
        """Whether revisions are commits and tags; else they are releases."""
        return any("{source}" in word for word in self.command)


class MetricTable(TomlTable, frozen=True, kw_only=True):
    """Numbers that the command writes to ``{metrics}``."""

    unit: Unit = "count"
    """``s`` and ``B`` are shown as times and sizes, other units unchanged."""
    show: tuple[Show, ...] = ()
    """Statistics, each the metric ``NAME-SHOW``. If empty, a run writes a single number."""


class WorkerTable(TomlTable, frozen=True, kw_only=True, rename={
    "extra_requirements": "with", "window_s": "window",
    "stop_within_s": "stop_within", "phases": "phase",
}):  # fmt: skip
    """The content of a worker file."""

    command: Words
    package: str | None = None
    """The Python package whose releases and commits are revisions."""
    build: Build | None = None
    module: str = ""
    repository: str | None = None
    variants: tuple[Variant, ...] = ()
    """Words that serve as revisions and fill in ``{revision}``; all share one environment."""
    versions: tuple[str, ...] = ()
    extra_requirements: tuple[str, ...] = ()
    python: str = ""
    files: tuple[str, ...] = ()
    environment: dict[VariableName, Text] = {}
    ready: Readiness | None = None
    settled: Readiness | None = None
    window_s: Seconds | Literal["until-exit"] | None = None
    """Should exceed every period of the idle worker; ``None``: 10 s."""
    background: bool = False
    """Whether the command ends once it has started the processes that are the worker."""
    stdin: Literal["open"] | None = None
    """``open``: a pipe that stays open; ``None``: no standard input."""
    side_by_side: bool = True
    """Whether runs of several revisions may be concurrent."""
    install: str = ""
    """A command that installs the program, shown if the program is missing."""
    parameters: Values = {}
    scenarios: dict[Name, Values] = {}
    metrics: dict[Name, MetricTable] = {}
    limits: dict[str, str] = {}
    stop: str = "TERM"
    stop_within_s: Seconds = 10.0
    services: dict[Name, ServiceTable] = {}
    poke: Poke | None = None
    phases: tuple[Phase, ...] = ()
    """In order: before the window of a phase, a run goes through all phases before it."""


class WorkerFile(WorkerTable, frozen=True, kw_only=True):
    """A worker file that was read, checked and normalised."""

    name: str
    ready: Readiness
    settled: Readiness
    """The condition, tested once the worker is ready, after which the window begins."""
    extras: tuple[str, ...] = ()
    """Extras of ``package``, such as ``standard`` in ``uvicorn[standard]``."""
    path: Path
    sha256: str
    """The digest of the worker file and of its ``files``."""
    texts: dict[str, str] = {}
    """The worker file and its small ``files``, by name: kept in results, sent to other machines."""

    @property
    def revisions(self) -> tuple[str, ...]:
        return self.versions or self.variants

    @property
    def ends_by_itself(self) -> bool:
        return self.window_s == UNTIL_EXIT

    def phases_until(self, name: object) -> tuple[Phase, ...]:
        """The named phase and all before it; none for a scenario that is not a phase."""
        names = [phase.name for phase in self.phases]
        return self.phases[: names.index(name) + 1] if name in names else ()


def stopped_after(phases: Iterable[Phase]) -> frozenset[str]:
    """Names the services that are stopped once these phases are over."""
    stopped = set[str]()
    for phase in phases:
        stopped |= {phase.stop} if phase.stop else set()
        stopped -= {phase.start}
    return frozenset(stopped)
