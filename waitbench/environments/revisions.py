"""What the user named -> a Revision: checked, and resolved to something that can be installed."""

import hashlib
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from waitbench.environments.repository import Repository, git
from waitbench.model.errors import UsageError

PACKAGE = "bytewax"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _./+-]{0,39}")
_RELEASE = re.compile(r"v?\d+(\.\d+)+((a|b|rc|\.dev|\.post|-alpha\.|-beta\.|-rc\.)\d+)?")


@dataclass(frozen=True)
class Release:
    """A released version, such as ``0.16.1``: on the package index, in the repository as a tag, or both."""

    version: str

    @property
    def identity(self) -> str:
        return self.version


@dataclass(frozen=True)
class Commit:
    """One commit of the repository, by its full id."""

    commit: str
    repository: Repository

    @property
    def identity(self) -> str:
        return self.commit


@dataclass(frozen=True)
class Checkout:
    """A folder with bytewax's sources, as it is now: uncommitted changes count, ignored files do not."""

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


@dataclass(frozen=True)
class Revision:
    """A bytewax that the user named."""

    label: str
    """Shown everywhere; unique in a comparison."""
    text: str
    """As the user wrote it, without the label."""
    source: Source


def resolve(texts: Sequence[str], repository: Repository) -> tuple[Revision, ...]:
    """Resolves what the user named, in order. Raises ``UsageError`` at the first that cannot be."""
    if not texts:
        raise UsageError("No revision given. Name at least one, such as: ./compare.sh v0.16.0 v0.16.1")
    revisions = tuple(_resolve_one(text, repository) for text in texts)
    seen: set[str] = set()
    for revision in revisions:
        if revision.label in seen:
            raise UsageError(
                f"Two revisions are called {revision.label!r}. To compare a revision with itself, label them: "
                f"A={revision.text} B={revision.text}"
            )
        seen.add(revision.label)
    return revisions


def _resolve_one(text: str, repository: Repository) -> Revision:
    label, name = _split_label(text)
    if not name or any(ord(character) < 32 for character in name):
        raise UsageError(f"{text!r} names no revision.")
    if name.startswith("-"):
        raise UsageError(f"{name!r} is not a revision: it starts with a dash.")
    path = Path(name)
    if name.endswith(".whl"):
        return Revision(label or path.name.split("-cp")[0], name, _wheel_file(path))
    if path.is_dir():
        return Revision(label or path.resolve().name, name, _checkout(path))
    if not _NAME.fullmatch(name) or ".." in name or "//" in name or name.endswith((".lock", "/", ".")):
        raise UsageError(
            f"{name!r} is not a revision. Name a release (v0.16.1), a commit (7 or more hex digits), a branch, a tag, "
            "a folder with a bytewax checkout, or a wheel file."
        )
    return Revision(label or name, name, _named(name, repository))


def _split_label(text: str) -> tuple[str | None, str]:
    if "=" not in text or Path(text).exists():
        return None, text
    label, _, name = text.partition("=")
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"{label!r} is not a label: letters, digits, spaces and . _ / + - only, beginning with a letter or digit, "
            "40 characters at most."
        )
    return label, name


def _named(name: str, repository: Repository) -> Source:
    if _RELEASE.fullmatch(name):
        try:
            return Release(str(Version(name.removeprefix("v"))))
        except InvalidVersion:
            pass
    commit = repository.find_commit(name)
    if commit is None:
        raise UsageError(
            f"{repository.location} has no commit, branch or tag {name!r}. "
            "If it is in a fork, name the fork with --repo URL; a commit of a deleted branch may be gone for good."
        )
    return Commit(commit, repository)


def _wheel_file(path: Path) -> WheelFile:
    if not path.is_file():
        raise UsageError(f"There is no wheel file {str(path)!r}.")
    try:
        name, _, _, _ = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            has_metadata = any(entry.endswith(".dist-info/METADATA") for entry in archive.namelist())
    except (InvalidWheelFilename, zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"{str(path)!r} is not a readable wheel: {error}") from error
    if damaged or not has_metadata:
        raise UsageError(f"{str(path)!r} is a damaged wheel: {damaged or 'its METADATA'} cannot be read.")
    if name != canonicalize_name(PACKAGE):
        raise UsageError(f"{str(path)!r} is a wheel of {name}, not of {PACKAGE}.")
    return WheelFile(path.resolve(), hashlib.sha256(path.read_bytes()).hexdigest())


def _checkout(folder: Path) -> Checkout:
    folder = folder.resolve()
    if not (folder / "pyproject.toml").is_file() or not _is_package(folder / "pyproject.toml"):
        raise UsageError(f"{str(folder)!r} is not a {PACKAGE} checkout: no pyproject.toml there names {PACKAGE}.")
    files = _files_of(folder)
    digest = hashlib.sha256()
    for name in files:
        content = (folder / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return Checkout(folder, digest.hexdigest(), git(folder, "rev-parse", "HEAD"), tuple(files))


def _is_package(pyproject: Path) -> bool:
    text = pyproject.read_text("utf-8", "replace")
    return re.search(rf"""^name\s*=\s*["']{PACKAGE}["']""", text, re.MULTILINE) is not None


def _files_of(folder: Path) -> list[str]:
    listed = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", ".")
    if listed is None:
        skipped = {".git", "target", "__pycache__", ".venv"}
        paths = (p for p in folder.rglob("*") if not skipped & set(p.relative_to(folder).parts))
        names = [str(path.relative_to(folder)) for path in paths]
    else:
        names = [name for name in listed.split("\0") if name]
    return sorted(name for name in names if (folder / name).is_file())
