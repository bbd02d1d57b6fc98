"""Worker files: what TOML says of a worker which is only a command.

What it needs beside it, how to tell that it is ready, how long it is judged while it waits, how it
is woken up, and how it ends. docs/workers.md has the reference, examples/workers/ has some.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import NormalizedName

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""Such as ``{port}`` or ``{redis.port}``; other braces stay as they are."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What is waited for: exactly one of the first five."""

    log: str | None = None
    """A regular expression that a line of the output matches."""
    port: bool = False
    """The command's own ``{port}`` is listened to."""
    command: tuple[str, ...] = ()
    """It exits with 0."""
    seconds: float | None = None
    """So much time."""
    exit: bool = False
    """The command that it belongs to exits with 0."""
    within: float = 30.0
    """Seconds after which it is given up."""


@dataclass(frozen=True, kw_only=True)
class ServiceFile:
    """A server that the worker needs."""

    command: tuple[str, ...]
    ready: Condition
    counters: tuple[str, ...] = ()
    """A command that prints ``NAME VALUE`` lines: ``requests``, ``bytes``."""
    install: str = ""
    """The command that installs it."""


@dataclass(frozen=True, kw_only=True)
class Poke:
    """One message after the silence."""

    command: tuple[str, ...]
    done: Condition


@dataclass(frozen=True, kw_only=True)
class WorkerFile:
    """A worker that is a command."""

    name: str
    """Of its file, without the suffix."""
    path: Path
    sha256: str
    """Over the file and those that it names."""
    command: tuple[str, ...]
    ready: Condition
    package: NormalizedName | None = None
    """What a revision is a release of; without one, a revision is a program."""
    extras: tuple[str, ...] = ()
    """Of the package, normalised."""
    module: str = ""
    """What is imported to test the installation; without one, what the package installs."""
    repository: str | None = None
    versions: tuple[str, ...] = ()
    """The revisions that ``./waitbench workers`` measures."""
    beside: tuple[str, ...] = ()
    """Packages that are installed beside it, pinned."""
    files: tuple[Path, ...] = ()
    """Copied to where the command runs."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What stands in the file, which comes first, and in those of ``files`` that are text."""
    environment: Mapping[str, str] = field(default_factory=dict)
    settled: Condition = Condition(seconds=1.0)
    window_s: float = 10.0
    """What is judged; longer than the longest period of what it does while it waits."""
    gate_window_s: float = 2.0
    """The same for the gate, unless ``--full`` is given."""
    install: str = ""
    """The command that installs the program that is a revision."""
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    """What else may stand in braces, with defaults; --set and --scan change them."""
    stop: str = "TERM"
    """The signal that ends it."""
    stop_group: bool = False
    """Whether it goes to the whole process group."""
    stop_within_s: float = 10.0
    services: Mapping[str, ServiceFile] = field(default_factory=dict)
    poke: Poke | None = None

    def as_plain(self) -> dict[str, Any]:
        """What the launcher is told, as JSON takes it."""
        plain = asdict(self)
        plain["path"] = str(self.path)
        plain["files"] = [str(path) for path in self.files]
        del plain["texts"]
        plain["copies"] = 1
        return plain


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Words with what stands in braces filled in, where it is known."""
    return [PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), one) for one in words]
