"""Resolves revisions as users name them to their sources; a Python is chosen later."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from waitbench.engines import cargo
from waitbench.engines.base import Engine
from waitbench.environments import builds
from waitbench.environments.repository import Repository, snapshot
from waitbench.model.errors import UsageError, hint
from waitbench.model.revision import EnvironmentSpec, Origin, Revision, Source, SourceTree
from waitbench.system import files
from waitbench.system.installation import called

_NAME = re.compile(
    r"(?!.{201}|.*(?:\.\.|//)|.*(?:\.lock|[/.])\Z)"
    r"[A-Za-z0-9_][A-Za-z0-9_./+-]*([~^][0-9]*)*"
)
"""A git reference or id, perhaps with ``~`` or ``^`` for an ancestor (``main~3``)."""
_MAX_NAME_CHARS = 200
_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 _./~^+-]{0,199}")
_LABELLED = re.compile(r"([^=]*)=(?!=)(.*)", re.DOTALL)


def resolve(
    named: Sequence[str | EnvironmentSpec], engine: Engine, repository: Repository | None
) -> tuple[EnvironmentSpec, ...]:
    """Resolves the texts among revisions in order. Raises ``UsageError`` at the first failure."""
    if not named:
        raise UsageError(
            f"No revision given. Name at least one, such as: {called('compare')} v0.16.0 v0.16.1"
        )
    specs = tuple(_resolve(it, engine, repository) if isinstance(it, str) else it for it in named)
    labels: set[str] = set()
    for spec in specs:
        if spec.label in labels:
            raise UsageError(
                f"Two revisions are called {spec.label!r}. To compare a revision with itself, "
                f"label them: A={spec.text} B={spec.text}"
            )
        labels.add(spec.label)
    return specs


def _resolve(text: str, engine: Engine, repository: Repository | None) -> EnvironmentSpec:
    label, name = _split_label(text)
    if not name or any(ord(character) < 32 for character in name):
        raise UsageError(f"{text!r} does not name a revision.")
    if name.startswith("-"):
        raise UsageError(f"{name!r} is not a revision: it starts with a dash.")
    path = Path(name)
    if engine.variants:
        default_label, source = name, _variant(name, engine)
    elif engine.is_program:
        default_label, source = path.name, _program(name, engine.install)
    elif engine.build and not engine.build.takes_source:
        default_label, source = name, builds.release(name, engine, repository)
    elif name.endswith(".whl") and engine.package:
        default_label, source = path.name.split("-cp")[0], _wheel_file(path, engine)
    elif files.is_folder(path):
        default_label, source = path.resolve().name, _checkout(path, engine, repository)
    else:
        default_label, source = name, _release_or_commit(name, engine, repository)
    label = label or default_label
    if not label.isprintable():  # a file's name may have any characters
        raise UsageError(f"{label!r} cannot be displayed. Label it: LABEL={name}")
    return spec_of(label, source, engine, name)


def spec_of(label: str, source: Source, engine: Engine, text: str = "") -> EnvironmentSpec:
    """The spec of a source before a Python is chosen; the text is by default the label."""
    return EnvironmentSpec(
        label=label, text=text or label, engine=engine.name, origin=source.origin, source=source
    )


def tree_of(spec: EnvironmentSpec, engine: Engine, repository: Repository | None) -> SourceTree:
    """The sources of a commit, or of a release by its tag. Raises ``UsageError``."""
    repository = _require_repository(engine, repository, spec.label)
    commit = spec.source.identity
    if spec.source.origin is not Origin.SOURCE:
        commit = repository.find_commit(engine.tag_of(commit))
    return SourceTree(repository.folder(), commit)


def _require_repository(engine: Engine, repository: Repository | None, text: str) -> Repository:
    """Returns the repository. Raises ``UsageError`` if none is known; ``text`` begins it."""
    if repository is None:
        raise UsageError(
            f"{text!r}: no repository of {engine.name} is known, so only its releases and "
            "wheel files can be compared. --repo URL_OR_FOLDER names one."
        )
    return repository


def argument_of(revision: Revision, wheel: str | None = None) -> str:
    """The argument that names a revision, or its wheel, with its label. Raises ``UsageError``."""
    text = wheel or revision.text
    argument = text if text == revision.label else f"{revision.label}={text}"
    _split_label(argument)  # raises if the label is invalid
    return argument


def _split_label(text: str) -> tuple[str | None, str]:
    """Splits ``LABEL=REVISION``. Raises ``UsageError`` for an invalid label."""
    labelled = _LABELLED.fullmatch(text)
    if labelled is None or files.is_there(text):
        return None, text
    label, name = labelled.groups()
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"{label!r} is not a label: letters, digits, spaces and . _ / ~ ^ + - only, beginning "
            "with a letter, digit or _, 200 characters at most."
        )
    return label, name


def _release_or_commit(name: str, engine: Engine, repository: Repository | None) -> Source:
    version = engine.version_of(name)
    if version is not None:
        _require_new_enough(version, engine)
        return Source(Origin.WHEEL, version)
    repository = _require_repository(engine, repository, name[:_MAX_NAME_CHARS])
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:_MAX_NAME_CHARS]!r} is not a revision. Name a release (v0.16.1), a commit (7 "
            "or more hex digits), a branch, a tag, an ancestor of these (main~3), a folder with a "
            f"checkout of {engine.name}, or a wheel file."
        )
    return Source(Origin.SOURCE, repository.find_commit(name))


def _require_new_enough(version: str, engine: Engine) -> None:
    if engine.oldest is not None and Version(version).release < Version(engine.oldest).release:
        raise UsageError(
            f"{engine.name} {version} is too old: {engine.oldest} is the oldest that can be "
            "measured."
        )


def _variant(name: str, engine: Engine) -> Source:
    if name not in engine.variants:
        remedy = hint(name, engine.variants)
        raise UsageError(f"{name!r} is not a variant of {engine.name}{remedy}.")
    return Source(Origin.VARIANT, name)


def _program(name: str, install: str) -> Source:
    """A program by its path, or by its name on ``PATH``. Raises ``UsageError``."""
    executable = shutil.which(name)
    if executable is None or not files.is_file(executable):
        remedy = f" This would install it: {install}" if install and os.sep not in name else ""
        raise UsageError(
            f"{name!r} is not a program here: name a file that can be executed, or a program on "
            "PATH. The worker file has no package, so a revision is a program."
            f"{remedy}"
        )
    # Links are not resolved, as some programs behave differently under another name.
    path = Path(executable).absolute()
    return Source(Origin.PROGRAM, files.sha256(path), path)


def _wheel_file(path: Path, engine: Engine) -> Source:
    if not files.is_file(path):
        raise UsageError(f"There is no wheel file {str(path)!r}.")
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise UsageError(f"{str(path)!r} is not a wheel: {error}") from error
    if name != canonicalize_name(engine.package):
        raise UsageError(f"{str(path)!r} is a wheel of {name}, not of {engine.package}.")
    _require_new_enough(str(version), engine)
    return Source(Origin.FILE, files.sha256(path), path.resolve())


def _checkout(folder: Path, engine: Engine, repository: Repository | None) -> Source:
    repository = _require_repository(engine, repository, str(folder))
    folder = folder.resolve()
    if engine.package and not _declares(folder / "pyproject.toml", engine.package):
        raise UsageError(
            f"{str(folder)!r} is not a checkout of {engine.name}: no pyproject.toml there names "
            f"{engine.package}."
        )
    return Source(Origin.CHECKOUT, snapshot(folder, repository.cache), folder)


def _declares(pyproject: Path, package: str) -> bool:
    text = pyproject.read_text("utf-8", "replace") if pyproject.is_file() else None
    name = cargo.parse_toml(text).get("project", {}).get("name", "")
    return canonicalize_name(name) == canonicalize_name(package)
