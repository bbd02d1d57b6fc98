"""Worker files: the tables of TOML that describe a worker which is only a command.

docs/workers.md has the reference, workers/ has some. What a type cannot tell is checked by
engines/worker/file.py.
"""

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

Seconds = Annotated[float, Meta(gt=0, le=3600)]
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Of a service, a metric or a scenario."""
ParameterName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Variant = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
Unit = Annotated[str, Meta(pattern=r"^[^\x00-\x1f]{1,20}$")]
Show = Annotated[str, Meta(pattern=r"^(mean|min|max|total|count|p[1-9][0-9]?)$")]
"""What is shown of the numbers of a run: a percentile is ``p1`` to ``p99``."""
Text = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
VariableName = Annotated[str, Meta(pattern=r"^[^=\x00]+$")]
Values = dict[ParameterName, int | float | Text]
UNTIL_EXIT = "until-exit"
"""A window from ready to the end of a command that ends by itself."""


class Words(tuple[str, ...]):
    """A command line, split into words."""


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a worker file."""


class Condition(_Table, frozen=True, kw_only=True):
    """When a worker or a service is ready: exactly one of its keys, but for ``within``."""

    log: str | None = None
    """A regular expression that a line of its output matches."""
    port: Literal[True] | None = None
    """Its own ``{port}`` is listened to."""
    command: Words = Words()
    """It exits with 0."""
    seconds: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """So much time."""
    within: Seconds = 30.0
    """Seconds after which it is given up."""

    def __post_init__(self) -> None:
        kinds = [name for name in self.__struct_fields__ if name != "within"]
        if sum(getattr(self, kind) not in (None, ()) for kind in kinds) != 1:
            raise ValueError(
                f"it needs exactly one of {', '.join(kinds)}, such as {{ seconds = 2 }}"
            )
        try:
            re.compile(self.log or "")
        except re.error as error:
            raise ValueError(f"log is not a regular expression: {error}") from error

    @property
    def longest_s(self) -> float:
        """How long it may be waited for."""
        return self.within if self.seconds is None else self.seconds


class Answer(Condition, frozen=True, kw_only=True):
    """What is waited for when a command has sent a message."""

    exit: Literal[True] | None = None
    """That command exits with 0."""


class ServiceFile(_Table, frozen=True, kw_only=True):
    """A server that the worker needs."""

    command: Words
    ready: Condition = Condition(port=True)
    stop: str = "TERM"
    """The signal that ends it."""
    counters: Words = Words()
    """A command that prints ``NAME VALUE`` lines: ``requests``, ``bytes``."""
    install: str = ""
    """The command that installs it."""


class Poke(_Table, frozen=True, kw_only=True):
    """One message after the silence."""

    command: Words
    done: Answer = Answer(exit=True)


class Phase(_Table, frozen=True, kw_only=True):
    """What happens before the window of the scenario that has its name: exactly one action."""

    name: Name
    poke: Literal[True] | None = None
    """The worker handles a message."""
    stop: str | None = None
    """A service ends."""
    start: str | None = None
    """A service that was stopped is there again."""
    run: Words = Words()
    """A command exits with 0."""
    may_end: bool = False
    """Whether the worker may end then: there is nothing to compare, and no failure."""
    seconds: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """How long after the action what follows begins, instead of when it has settled again."""

    def __post_init__(self) -> None:
        actions = ("poke", "stop", "start", "run")
        if sum(getattr(self, action) not in (None, ()) for action in actions) != 1:
            raise ValueError(f"a phase needs exactly one of {', '.join(actions)}")


class MetricFile(_Table, frozen=True, kw_only=True):
    """Numbers that the command writes to ``{metrics}``."""

    unit: Unit = "count"
    """``s`` and ``B`` are shown as times and sizes, any other as it is."""
    show: tuple[Show, ...] = ()
    """Each is a metric, ``NAME-SHOW``; without any, a run writes one number, and NAME is it."""


class WorkerTable(_Table, frozen=True, kw_only=True, rename={
    "beside": "with", "exclude_newer": "exclude-newer", "window_s": "window",
    "stop_within_s": "stop_within", "phases": "phase",
}):  # fmt: skip
    """All that a worker file may say."""

    command: Words
    package: str | None = None
    """What a revision is a release of; without one, a revision is a variant or a program."""
    module: str = ""
    """What is imported to test the installation."""
    repository: str | None = None
    variants: tuple[Variant, ...] = ()
    """The words that are its revisions."""
    versions: tuple[str, ...] = ()
    """The revisions that ``./waitbench workers`` measures."""
    beside: tuple[str, ...] = ()
    """Packages that are installed beside it, pinned."""
    exclude_newer: date | None = None
    """The last day whose releases of packages that nobody pinned are installed."""
    python: str = ""
    """The Pythons that it takes, such as ``>=3.9,<3.13``."""
    files: tuple[str, ...] = ()
    """Copied to where the command runs."""
    environment: dict[VariableName, Text] = {}
    ready: Condition | None = None
    settled: Condition | None = None
    window_s: Seconds | Literal["until-exit"] | None = None
    """What is judged; longer than the longest period of what it does while it waits.

    Without one, ``execution.window`` finds that of a gate."""
    side_by_side: bool = True
    """Whether runs of it may take place at once, if it idles."""
    install: str = ""
    """The command that installs the program that is a revision."""
    parameters: Values = {}
    """What else may stand in braces, with defaults; --set and --scan change them."""
    scenarios: dict[Name, Values] = {}
    """Other values of parameters, by the name of the scenario that has them."""
    metrics: dict[Name, MetricFile] = {}
    limits: dict[str, str] = {}
    """What metrics of a revision may come to: see ``--limit``."""
    stop: str = "TERM"
    """The signal that ends it."""
    stop_within_s: Seconds = 10.0
    services: dict[Name, ServiceFile] = {}
    poke: Poke | None = None
    phases: tuple[Phase, ...] = ()
    """In their order: each is a scenario, whose runs go through all those before it."""


class WorkerFile(WorkerTable, frozen=True, kw_only=True):
    """A worker that is a command, and where that is written."""

    name: str
    """Of its file, without the suffix."""
    ready: Condition
    """When start-up is over: what ends by itself is judged from its start."""
    settled: Condition
    """When the window may begin, after it is ready."""
    extras: tuple[str, ...] = ()
    """Of the package, normalised; ``package`` is its normalised name."""
    path: Path
    sha256: str
    """Over the file and those that it names."""
    texts: dict[str, str] = {}
    """What stands in the file, which comes first, and in those of ``files`` that are text."""

    @property
    def revisions(self) -> tuple[str, ...]:
        """Those that ``./waitbench workers`` measures."""
        return self.versions or self.variants

    @property
    def ends_by_itself(self) -> bool:
        """Whether its window ends with it."""
        return self.window_s == UNTIL_EXIT

    def phases_until(self, name: object) -> tuple[Phase, ...]:
        """What happens before the window of a phase; nothing where it is idle from its start."""
        names = [phase.name for phase in self.phases]
        return self.phases[: names.index(name) + 1] if name in names else ()


def stopped_after(phases: Iterable[Phase]) -> frozenset[str]:
    """The services that are gone when all of these are over."""
    gone = set[str]()
    for phase in phases:
        gone |= {phase.stop} if phase.stop else set()
        gone -= {phase.start}
    return frozenset(gone)
