"""Worker files: TOML that describes a worker as a command.

docs/worker-files.md is the reference, workers/ has examples. engines/worker/file.py checks all that
types do not.
"""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from waitbench.model.conditions import Answer, PokeEnded, Port, Readiness, Words

Seconds = Annotated[float, Meta(gt=0, le=3600)]
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
ParameterName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Variant = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
Unit = Annotated[str, Meta(pattern=r"^[^\x00-\x1f]{1,20}$")]
Show = Annotated[str, Meta(pattern=r"^(mean|min|max|total|count|p[1-9][0-9]?)$")]
"""The statistic of a run's numbers; percentiles are ``p1`` to ``p99``."""
Text = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
VariableName = Annotated[str, Meta(pattern=r"^[^=\x00]+$")]
Values = dict[ParameterName, int | float | Text]
ACTIONS = ("poke", "stop", "start", "run", "close", "reset")
"""Keys of a phase."""
UNTIL_EXIT = "until-exit"
"""The window of a command that ends by itself: from ready to its end."""


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a worker file."""


class ServiceFile(_Table, frozen=True, kw_only=True):
    """A server that the worker needs."""

    command: Words
    ready: Readiness = Port(value=True)
    stop: str = "TERM"
    counters: Words = Words()
    """A command that prints ``NAME VALUE`` lines: ``requests``, ``bytes``."""
    install: str = ""


class Poke(_Table, frozen=True, kw_only=True):
    """A message after the silence."""

    command: Words
    done: Answer = PokeEnded(value=True)
    rate: Annotated[float, Meta(gt=0, le=100)] | None = None
    """Messages a second in the window of one more scenario."""


class Phase(_Table, frozen=True, kw_only=True):
    """Exactly one action before the window of the scenario of the same name."""

    name: Name
    poke: Literal[True] | None = None
    stop: str | None = None
    start: str | None = None
    run: Words = Words()
    close: Literal["stdin"] | None = None
    reset: Text | None = None
    """A client sends this to ``{port}``, and resets its connection."""
    may_end: bool = False
    """Whether the worker may end: then there is nothing to compare, and no failure."""
    must_end: bool = False
    """Whether the worker must end within the window, which begins with the action."""
    seconds: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """The length of the phase, instead of waiting until the worker has settled again."""

    def __post_init__(self) -> None:
        if len(self._actions) != 1:
            raise ValueError(f"a phase needs exactly one of {', '.join(ACTIONS)}")

    @property
    def action(self) -> str:
        return self._actions[0]

    @property
    def _actions(self) -> list[str]:
        return [action for action in ACTIONS if getattr(self, action) not in (None, ())]


class Build(_Table, frozen=True, kw_only=True):
    """How a revision of any language becomes a folder, ``{prefix}``."""

    command: Words
    versions: Words = Words()
    """A command that prints the releases, oldest first."""
    within: Seconds = 3600.0

    @property
    def takes_source(self) -> bool:
        """Whether revisions are commits: else they are releases."""
        return any("{source}" in word for word in self.command)


class MetricFile(_Table, frozen=True, kw_only=True):
    """Numbers that the command writes to ``{metrics}``."""

    unit: Unit = "count"
    """``s`` and ``B`` are shown as times and sizes, others unchanged."""
    show: tuple[Show, ...] = ()
    """A metric ``NAME-SHOW`` each; without any, a run writes a single number for NAME."""


class WorkerTable(_Table, frozen=True, kw_only=True, rename={
    "extra_requirements": "with", "exclude_newer": "exclude-newer", "window_s": "window",
    "stop_within_s": "stop_within", "phases": "phase",
}):  # fmt: skip
    """The content of a worker file."""

    command: Words
    package: str | None = None
    """The package whose releases are revisions; else these are built, variants or programs."""
    build: Build | None = None
    module: str = ""
    repository: str | None = None
    variants: tuple[Variant, ...] = ()
    versions: tuple[str, ...] = ()
    extra_requirements: tuple[str, ...] = ()
    exclude_newer: date | None = None
    python: str = ""
    files: tuple[str, ...] = ()
    environment: dict[VariableName, Text] = {}
    ready: Readiness | None = None
    settled: Readiness | None = None
    window_s: Seconds | Literal["until-exit"] | None = None
    """Longer than any period of an idle worker; ``execution.window`` chooses one if ``None``."""
    background: bool = False
    """Whether the command ends once it has started its processes: these are the worker then."""
    stdin: Literal["open"] | None = None
    """A pipe that stays open, instead of none."""
    side_by_side: bool = True
    install: str = ""
    parameters: Values = {}
    scenarios: dict[Name, Values] = {}
    metrics: dict[Name, MetricFile] = {}
    limits: dict[str, str] = {}
    stop: str = "TERM"
    stop_within_s: Seconds = 10.0
    services: dict[Name, ServiceFile] = {}
    poke: Poke | None = None
    phases: tuple[Phase, ...] = ()
    """In order: the runs of each go through all phases before it."""


class WorkerFile(WorkerTable, frozen=True, kw_only=True):
    """A worker file that was read, checked and normalised."""

    name: str
    ready: Readiness
    settled: Readiness
    """When the window may begin, after it is ready."""
    extras: tuple[str, ...] = ()
    path: Path
    sha256: str
    texts: dict[str, str] = {}

    @property
    def revisions(self) -> tuple[str, ...]:
        return self.versions or self.variants

    @property
    def ends_by_itself(self) -> bool:
        return self.window_s == UNTIL_EXIT

    def phases_until(self, name: object) -> tuple[Phase, ...]:
        """The phases before the window of the named one; none for other scenarios."""
        names = [phase.name for phase in self.phases]
        return self.phases[: names.index(name) + 1] if name in names else ()


def stopped_after(phases: Iterable[Phase]) -> frozenset[str]:
    """The services that have ended after some phases."""
    stopped = set[str]()
    for phase in phases:
        stopped |= {phase.stop} if phase.stop else set()
        stopped -= {phase.start}
    return frozenset(stopped)
