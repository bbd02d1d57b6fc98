"""What the user named, resolved to something that can be installed."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Release:
    """A released version, such as ``0.16.1``: on the package index, in the repository, or both."""

    version: str

    @property
    def identity(self) -> str:
        return self.version


@dataclass(frozen=True)
class Commit:
    """One commit of the repository, by its full id."""

    commit: str

    @property
    def identity(self) -> str:
        return self.commit


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A folder with sources as they are now, uncommitted changes included, ignored files not."""

    folder: Path
    fingerprint: str
    """SHA-256 over the names and contents of its files."""
    commit: str | None
    files: tuple[str, ...]

    @property
    def identity(self) -> str:
        return self.fingerprint


@dataclass(frozen=True)
class WheelFile:
    """A wheel on disk."""

    path: Path
    sha256: str

    @property
    def identity(self) -> str:
        return self.sha256


Source = Release | Commit | Checkout | WheelFile


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One state of an engine's code that the user named."""

    label: str
    """Shown everywhere; unique in a comparison."""
    text: str
    """As the user wrote it, without the label."""
    engine: str
    """The name of the engine whose revision it is."""
    source: Source
