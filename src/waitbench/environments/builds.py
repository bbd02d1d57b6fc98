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
_BETWEEN = re.compile(r'[\s",\[\]]+')
"""Separators of printed releases: line ends, and the signs of a JSON list."""
_PATH = re.compile(r"/[^\s'\";:=]+")
_LIST_S = 120.0


def release(name: str, engine: Engine, repository: Repository | None) -> Source:
    """Resolves the name of a release, with or without a ``v``. Raises ``UsageError``."""
    if repository is not None:
        raise UsageError(
            f"--repo: {engine.name} is built by its releases, as build.command has no {{source}}."
        )
    if not _required(engine).versions:
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
    build = _required(engine)
    if not build.versions:
        raise UsageError(f"{engine.name}: its file needs build.versions, which lists releases.")
    require_program(build.versions[0], "build.versions", engine.install)
    return _printed(build.versions)


@cache
def _printed(words: tuple[str, ...]) -> Sequence[str]:
    answer = processes.ask(words, time_limit_s=_LIST_S, env=variables.of_setup(), cwd=Path("/"))
    versions = [word for word in _BETWEEN.split(answer.stdout) if _FIXED.fullmatch(word)]
    if answer.returncode == 0 and versions:
        return tuple(dict.fromkeys(versions))
    lines = answer.stderr.strip().splitlines() or ["it printed no versions"]
    failure = "did not end in time" if answer.returncode is None else "failed"
    raise HarnessError(f"build.versions, {words[0]}, {failure}: {lines[0]}")


def determinants(engine: Engine) -> list[str]:
    """The command of a build, and the digests of the files that it names by their paths."""
    words = _required(engine).command
    paths = (Path(path) for word in words for path in _PATH.findall(word))
    return [*words, *map(files.sha256, paths)]


def run_build(engine: Engine, spec: EnvironmentSpec, folder: Path, log: Path, cache: Cache) -> None:
    """Builds a revision into a folder. Raises ``HarnessError``."""
    build, values = _required(engine), {"prefix": str(folder), "revision": spec.source.identity}
    require_program(build.command[0], "build.command", engine.install)
    values["python"] = str(folder / "bin" / "python")
    with ExitStack() as stack:
        source = folder
        folder.mkdir(exist_ok=True)
        if spec.source_tree is not None:
            # Paths may end up in programs: one path for all revisions keeps them comparable.
            source = cache.folder(f"builds/{engine.name}") / "source"
            lock = cache.lock_file(f"build-{engine.name}")
            stack.enter_context(locked(lock, lambda _message: None))
            stack.callback(partial(files.remove, source))
            files.remove(source)
            source.mkdir()
            export(spec.source_tree, source)
            values["source"] = str(source)
        words = filled(build.command, values)
        processes.run_logged(words, log, time_limit_s=build.within, cwd=source)


def _required(engine: Engine) -> Build:
    assert engine.build is not None, "other engines have Python packages"
    return engine.build
