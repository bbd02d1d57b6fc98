"""Releases and builds of any language, by the commands of a worker file's ``[build]``."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

from waitbench.engines.base import Engine, require_program
from waitbench.environments.repository import Repository, export
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.launch import filled
from waitbench.model.revision import EnvironmentSpec, Origin, Source
from waitbench.model.worker import Build
from waitbench.system import files, processes, variables
from waitbench.system.locks import locked
from waitbench.system.paths import Cache

_FIXED = re.compile(r"v?\d[\w.+~-]{0,99}|[0-9a-f]{7,40}")
"""A version or a commit: a name that always means the same code."""
_SEPARATORS = re.compile(r'[\s",\[\]]+')
"""Separators of printed releases: line ends, and the punctuation of a JSON list."""
_PATH = re.compile(r"/[^\s'\"`;:=,()<>|&]+")
_LIST_TIME_LIMIT_S = 120.0


def release(name: str, engine: Engine, repository: Repository | None) -> Source:
    """Resolves the name of a release, with or without a leading ``v``. Raises ``UsageError``."""
    if repository is not None:
        raise UsageError(
            f"--repo: {engine.name} is built from releases, as build.command has no {{source}}."
        )
    if not _build_of(engine).versions:
        if not _FIXED.fullmatch(name):
            raise UsageError(f"{name!r} is not a fixed version: name one, such as 1.2.0.")
        return Source(Origin.BUILD, name)
    versions = list_releases(engine)
    for spelling in (name, name.removeprefix("v"), f"v{name}"):
        if spelling in versions:
            return Source(Origin.BUILD, spelling)
    raise UsageError(
        f"{name!r} is not a release of {engine.name}. The newest are: {', '.join(versions[-5:])}."
    )


def list_releases(engine: Engine) -> Sequence[str]:
    """The releases that ``build.versions`` prints, oldest first. Raises ``HarnessError``."""
    build = _build_of(engine)
    if not build.versions:
        raise UsageError(f"{engine.name}: its file needs build.versions, which lists releases.")
    require_program(build.versions[0], "build.versions", engine.install)
    return _printed_versions(build.versions)


@cache
def _printed_versions(words: tuple[str, ...]) -> Sequence[str]:
    env, root = variables.of_setup(), Path("/")
    listing = processes.ask(words, time_limit_s=_LIST_TIME_LIMIT_S, env=env, cwd=root)
    versions = [word for word in _SEPARATORS.split(listing.stdout) if _FIXED.fullmatch(word)]
    if listing.returncode == 0 and versions:
        return tuple(dict.fromkeys(versions))
    lines = listing.stderr.strip().splitlines() or ["it printed no versions"]
    failure = "did not end in time" if listing.returncode is None else "failed"
    raise HarnessError(f"build.versions, {words[0]}, {failure}: {lines[0]}")


def determinants(engine: Engine) -> list[str]:
    """The texts on which a build depends: its command, and the digests of files in the command."""
    words = _build_of(engine).command
    # The rest of a word after its first slash may be a path with spaces.
    rests = (f"/{word.partition('/')[2]}" for word in words)
    paths = map(Path, (*rests, *(path for word in words for path in _PATH.findall(word))))
    return [*words, *map(files.sha256, paths)]


def run_build(engine: Engine, spec: EnvironmentSpec, folder: Path, log: Path, cache: Cache) -> None:
    """Builds a revision into a folder, by ``build.command``. Raises ``HarnessError``."""
    build = _build_of(engine)
    require_program(build.command[0], "build.command", engine.install)
    python = str(folder / "bin" / "python")
    values = {"prefix": str(folder), "revision": spec.source.identity, "python": python}
    with ExitStack() as stack:
        source = folder
        folder.mkdir(exist_ok=True)
        # One by one, as builds may share a cache of their own.
        stack.enter_context(locked(cache.lock_file(f"build-{engine.name}")))
        if spec.source_tree is not None:
            # The same path for all revisions, as built programs may contain it.
            source = cache.folder(f"builds/{engine.name}") / "source"
            stack.callback(partial(files.remove, source))
            files.remove(source)
            source.mkdir()
            export(spec.source_tree, source)
            values["source"] = str(source)
        words = filled(build.command, values)
        processes.run_logged(words, log, time_limit_s=build.within, cwd=source)


def _build_of(engine: Engine) -> Build:
    assert engine.build is not None, "only engines with a build are built by commands"
    return engine.build
