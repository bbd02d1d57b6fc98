"""Where ``tests/faults/fuzz.py`` runs the program: watched, and without a network or a disk.

Only the cache and a folder of its own can be written to; what would prepare or measure ends the
program instead.
"""

import io
import os
import subprocess
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

import runner
from waitbench import commands
from waitbench.environments import repository
from waitbench.environments.index import Index
from waitbench.environments.interpreters import installed
from waitbench.reporting import charts
from waitbench.system import crashes, instruments
from waitbench.system.places import PACKAGE, ROOT, Cache
from waitbench.system.processes import Answer


class Planned(BaseException):
    """A command line made sense: the next thing would be to prepare or to measure."""


@dataclass
class Watch:
    """What the program tries to create, while it is watched; elsewhere the disk is read-only."""

    sandbox: Path = ROOT
    created: list[str] = field(default_factory=list)
    is_on: bool = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Notes what an event of the interpreter's is about; see ``sys.addaudithook``."""
        if not self.is_on:
            return
        for path in _written(event, arguments):
            where = os.path.realpath(os.fsdecode(path))
            if where.startswith((str(Cache().root), "/dev/")):
                continue
            self.created.append(where)
            if not where.startswith(str(self.sandbox)):
                raise PermissionError(13, "the disk is read-only here", where)


WATCH = Watch()
# Once, as no hook is ever removed.
sys.addaudithook(WATCH.hear)


@contextmanager
def sandbox() -> Iterator[Watch]:
    """A folder to be in, with things to name; nothing is downloaded, prepared or measured."""
    pythons = installed(Cache())
    charts.draw_all([], ROOT, [])  # matplotlib writes a cache of its own when it is imported
    wheels = {("0.16.0", "cp310"), ("0.16.1", "cp310"), ("0.16.1", "cp311")}

    def plan(*_arguments: object, **_more: object) -> None:
        raise Planned

    answers: dict[tuple[str, ...], Answer] = {}
    real_git = repository._run

    def ask_git(command: list[str]) -> Answer:
        if {"clone", "fetch"} & set(command):
            return Answer(returncode=128, stdout="", stderr="there is no network")
        if tuple(command) not in answers:  # the repository stays what it is
            answers[tuple(command)] = real_git(command)
        return answers[tuple(command)]

    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        stack.callback(os.chdir, Path.cwd())
        os.chdir(name)
        _furnish(Path(name))
        for target in (
            "pipeline.comparing.prepare", "pipeline.concluding.draw",
            "execution.services.make_environment",
        ):  # fmt: skip
            stack.enter_context(patch(f"waitbench.{target}", plan))
        # The same for every line, and made in 5 ms.
        command = typer.main.get_command(runner.make_app())
        stack.enter_context(patch.object(commands, "make_app", lambda *_names: command))
        for name_of in ("find_instruments", "find_system_calls"):
            found = getattr(instruments, name_of)()
            stack.enter_context(
                patch(f"waitbench.pipeline.request.{name_of}", partial(_same, found))
            )
        stack.enter_context(patch("waitbench.commands.doctor._findings", lambda _cache: ()))
        stack.enter_context(patch.object(repository, "_run", ask_git))
        stack.enter_context(patch("waitbench.environments.origins.installed", lambda _c: pythons))
        stack.enter_context(
            patch.object(
                Index, "wheel", lambda _self, v, py: Path("x") if (v, py.tag) in wheels else None
            )
        )
        stack.enter_context(
            patch.dict(os.environ, {"BYTEWAX_REPO": "repository", "HOME": name, "TMPDIR": name})
        )
        stack.enter_context(patch.object(sys, "dont_write_bytecode", True))
        WATCH.sandbox = Path(name).resolve()
        yield WATCH


def run(line: list[str], watch: Watch, encoding: str) -> tuple[int, str]:
    """The exit code of the program, 0 for a plan, and what it says on stderr."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2)]
    crash: list[str] = []
    watch.created.clear()
    with (
        patch.object(sys, "argv", ["runner.py", *line]),
        patch.object(sys, "stdout", streams[0]),
        patch.object(sys, "stderr", streams[1]),
        patch.object(crashes, "explain", lambda error: _keep(error, crash)),
    ):
        watch.is_on = True
        try:
            code = runner.main()
        except Planned:
            code = 0
        finally:
            watch.is_on = False
    streams[1].flush()
    buffer = streams[1].buffer
    assert isinstance(buffer, io.BytesIO)
    return code, "".join(crash) + buffer.getvalue().decode(encoding, "replace")


def told(error: Exception) -> str:
    """An error, and the last place of ours that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{f.filename}:{f.lineno}" for f in frames if f.filename.startswith(str(PACKAGE))]
    return f"{repr(error)[:200]} at {''.join(where[-1:])}"


def _keep(error: Exception, crash: list[str]) -> str:
    crash.append(told(error))
    return ""


def _same(found: Any) -> Any:
    return found


def _furnish(folder: Path) -> None:
    """Dataflows, wheels, a checkout and a repository, sound ones and broken ones."""
    (folder / "empty").mkdir()
    (folder / "loop").symlink_to("loop")
    for name, content in {
        "good.py": b"flow = 1\ndef get(n): ...\n", "broken.py": b"def flow(:\n",
        "latin.py": b"flow = '\xe9'\n", "deep.py": b"flow = " + b"-" * 100_000 + b"1\n",
        "co:lon.py": b"flow = 1\n", "broken.whl": b"PK no", "sound.whl": b"",
    }.items():  # fmt: skip
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "bytewax-0.0.1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("bytewax-0.0.1.dist-info/METADATA", "Name: bytewax\n")
    for name in ("checkout", "repository"):
        (folder / name).mkdir()
        (folder / name / "pyproject.toml").write_text('[project]\nname = "bytewax"\n')
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for arguments in (
            ["init", "--quiet", "-b", "main"], ["add", "."], [*who, "commit", "-qm", "first"],
            [*who, "commit", "-qm", "second", "--allow-empty"], ["tag", "v0.16.0"],
        ):  # fmt: skip
            subprocess.run(["git", "-C", str(folder / name), *arguments], check=True)


def _is_folder(path: Any) -> bool:
    return isinstance(path, (str, bytes)) and os.path.isdir(path)  # noqa: PTH112


def _written(event: str, arguments: tuple[Any, ...]) -> list[Any]:
    """The paths that an event of the interpreter's creates, changes or removes."""
    paths: list[Any] = []
    if event == "open":
        path, _mode, flags = arguments
        # A folder is opened for a file without a name, which is gone when it is closed.
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not _is_folder(path):
            paths = [path]
    elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate"):
        paths = [arguments[0]]
    elif event in ("os.rename", "os.symlink", "os.link"):
        paths = [arguments[1]]
    return [path for path in paths if isinstance(path, (str, bytes, os.PathLike))]
