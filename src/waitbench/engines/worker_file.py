"""TOML -> a ``WorkerFile``, or an error with its line and key."""

import hashlib
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from waitbench.model.errors import UsageError
from waitbench.model.scan import TOPOLOGY
from waitbench.model.worker import PLACEHOLDER, Condition, Poke, ServiceFile, WorkerFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_OF_A_SERVICE = ("port", "folder")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,30}")
_MOST_S = 3600.0
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_SHELL = re.compile(r"(?:^|(?<=\s))(?:[|&;]+|&?\d*[<>]\S*)(?=\s|$)|(?<=\S)[;&](?=\s|$)")
"""What a shell takes as its own: pipes, redirections, ends of commands."""

REVISION, PORT, FOLDER, PYTHON, HERE = "revision", "port", "folder", "python", "here"
"""What a worker's own command may have in braces: the program that is the revision, a free port,
the folder it runs in, the environment's interpreter, the folder of the worker file."""


_TAKEN = {
    REVISION, PORT, FOLDER, PYTHON, HERE, *TOPOLOGY, "window", "file", "sha256", "after",
}  # fmt: skip
"""What no parameter of a worker may be called."""


def read(path: Path) -> WorkerFile:
    """Reads and validates a worker file.

    Raises ``UsageError`` with the line and the key of what is wrong.
    """
    shown = f"--worker {str(path)!r}"
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{shown} is not TOML: {error or 'it is nested too deeply'}.") from error
    if not _NAME.fullmatch(path.stem):
        raise UsageError(
            f"{shown}: results are named after {path.stem!r}. Call the file otherwise: lower-case "
            "letters, digits and dashes, beginning with a letter."
        )
    return _Reader(shown, text).worker(table, path.resolve(), content)


def portable_files(worker: WorkerFile) -> dict[str, bytes]:
    """The file, which comes first, and those that it names, for another machine.

    Raises ``UsageError`` where it needs anything that only this machine has.
    """
    wanted = _files_here(worker) | {one.name for one in worker.files}
    if worker.package is None or not wanted <= worker.texts.keys():
        raise UsageError(
            f"--on: {worker.path.name} needs a program or a file that only this machine has. Name "
            "text files in its 'files', or measure it here."
        )
    return {name: text.encode() for name, text in worker.texts.items()}


def _files_here(worker: WorkerFile) -> set[str]:
    """The names of what its command lines take from the folder of the file."""
    conditions = [worker.ready, worker.settled]
    lines = [worker.command, tuple(worker.environment.values())]
    for service in worker.services.values():
        lines += [service.command, service.counters]
        conditions.append(service.ready)
    if worker.poke is not None:
        lines.append(worker.poke.command)
        conditions.append(worker.poke.done)
    lines += [one.command for one in conditions]
    found = (re.findall(r"\{here\}/?([^\s/]*)", word) for line in lines for word in line)
    return {name for names in found for name in names}


_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Reader:
    """Reads tables of one file, and knows its lines."""

    shown: str
    text: str

    def worker(self, table: Mapping[str, Any], path: Path, content: bytes) -> WorkerFile:
        self._only(
            table, "",
            "package", "module", "repository", "versions", "with", "files", "command",
            "environment", "ready", "settled", "window", "gate_window", "stop", "stop_group",
            "stop_within", "services", "poke", "parameters", "install",
        )  # fmt: skip
        package, extras = self._package(table)
        parameters = self._parameters(table)
        own = {PORT, FOLDER, HERE, PYTHON if package else REVISION, *parameters}
        services = {
            name: self._service(one, name, own - {REVISION})
            for name, one in self._table(table, "", "services").items()
        }
        known = own | {f"{name}.{part}" for name in services for part in _OF_A_SERVICE}
        files = tuple(
            self._file(path.parent / name, name)
            for name in self._texts(table, "", "files", default=())
        )
        digest, texts = hashlib.sha256(content), {path.name: self.text}
        for one in files:
            held = one.read_bytes()
            digest.update(one.name.encode() + held)
            with suppress(UnicodeDecodeError):
                texts[one.name] = held.decode("utf-8")
        command = self._command(table, "", known)
        if package is None and not any("{revision}" in word for word in command):
            self._wrong("command", "there is no package, so it needs {revision}: the program")
        window_s = self._seconds(table, "", "window", 10.0)
        return WorkerFile(
            name=path.stem,
            path=path,
            sha256=digest.hexdigest(),
            command=command,
            package=package,
            extras=extras,
            module=self._get(table, "", "module", str, ""),
            repository=self._get(table, "", "repository", str, None),
            versions=self._texts(table, "", "versions", default=()),
            beside=self._pins(table),
            files=files,
            texts=texts,
            environment=self._environment(table, known),
            ready=self._condition(table, "", "ready", known, Condition(seconds=1.0)),
            settled=self._condition(table, "", "settled", known, Condition(seconds=1.0)),
            window_s=window_s,
            gate_window_s=self._seconds(table, "", "gate_window", min(window_s, 2.0)),
            install=self._get(table, "", "install", str, ""),
            parameters=parameters,
            stop=self._stop(table),
            stop_group=self._get(table, "", "stop_group", bool, default=False),
            stop_within_s=self._seconds(table, "", "stop_within", 10.0),
            services=services,
            poke=self._poke(table, known) if "poke" in table else None,
        )

    def _service(self, table: object, name: str, known: set[str]) -> ServiceFile:
        at = f"services.{name}"
        if not _NAME.fullmatch(name):
            self._wrong(at, "lower-case letters, digits and dashes only")
        if not isinstance(table, dict):
            self._wrong(at, "is not a table")
        self._only(table, at, "command", "ready", "counters", "install")
        ready = self._condition(table, at, "ready", {PORT, HERE}, Condition(port=True))
        if not (ready.port or ready.command):
            self._wrong(f"{at}.ready", "a service is ready by port or by command")
        return ServiceFile(
            command=self._command(table, at, known),
            ready=ready,
            counters=self._command(table, at, known, "counters", required=False),
            install=self._get(table, at, "install", str, ""),
        )

    def _poke(self, table: Mapping[str, Any], known: set[str]) -> Poke:
        poke = self._table(table, "", "poke")
        self._only(poke, "poke", "command", "done")
        return Poke(
            command=self._command(poke, "poke", known),
            done=self._condition(poke, "poke", "done", known, Condition(exit=True)),
        )

    def _condition(
        self,
        table: Mapping[str, Any],
        at: str,
        key: str,
        known: set[str],
        default: Condition,
    ) -> Condition:
        if key not in table:
            return default
        here = _join(at, key)
        one = self._table(table, at, key)
        kinds = ("log", "port", "command", "seconds", "exit")
        self._only(one, here, *kinds, "within")
        given = [kind for kind in kinds if kind in one]
        if len(given) != 1:
            self._wrong(here, f"needs exactly one of {', '.join(kinds)}, such as {{ seconds = 2 }}")
        if given == ["exit"] and key != "done":
            self._wrong(here, "exit is for what is done about a poke")
        log = self._get(one, here, "log", str, None)
        if log is not None:
            try:
                re.compile(log)
            except re.error as error:
                self._wrong(_join(here, "log"), f"is not a regular expression: {error}")
        for kind in ("port", "exit"):
            if self._get(one, here, kind, bool, True) is not True:
                self._wrong(_join(here, kind), "is true, or is left out")
        return Condition(
            log=log,
            port="port" in one,
            command=self._command(one, here, known, required=False),
            seconds=self._seconds(one, here, "seconds", 0.0) if "seconds" in one else None,
            exit="exit" in one,
            within=self._seconds(one, here, "within", 30.0),
        )

    def _command(
        self,
        table: Mapping[str, Any],
        at: str,
        known: set[str],
        key: str = "command",
        *,
        required: bool = True,
    ) -> tuple[str, ...]:
        """A command line, or a list of its words."""
        if key not in table:
            if required:
                self._wrong(_join(at, key), "is missing")
            return ()
        here, given = _join(at, key), table[key]
        words = given
        if isinstance(given, str):
            self._require_no_shell(given, here)
            try:
                words = shlex.split(given)
            except ValueError as error:
                self._wrong(here, f"is not a command line: {error}")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self._wrong(here, "is not a text, nor a list of texts")
        if not words:
            self._wrong(here, "is empty")
        for word in words:
            self._require_known(word, here, known)
        return tuple(words)

    def _require_no_shell(self, text: str, here: str) -> None:
        sign = _SHELL.search(_QUOTED.sub("_", text))
        if sign is not None:
            self._wrong(
                here,
                f"{sign[0]} is for a shell, and there is none. With one: "
                f'{here.rpartition(".")[2]} = ["sh", "-c", "…"]',
            )

    def _require_known(self, text: str, at: str, known: set[str]) -> None:
        for name in PLACEHOLDER.findall(text):
            if name not in known:
                there = ", ".join(f"{{{one}}}" for one in sorted(known))
                self._wrong(at, f"nothing fills {{{name}}}. There are: {there}")

    def _environment(self, table: Mapping[str, Any], known: set[str]) -> Mapping[str, str]:
        found = self._table(table, "", "environment")
        for name, value in found.items():
            here = f"environment.{name}"
            if not isinstance(value, str):
                self._wrong(here, "is not a text")
            self._require_known(value, here, known)
        return found

    def _package(self, table: Mapping[str, Any]) -> tuple[NormalizedName | None, tuple[str, ...]]:
        """Its normalised name, and the extras of it that are wanted."""
        text = self._get(table, "", "package", str, None)
        if text is None:
            return None, ()
        try:
            named = Requirement(text)
        except InvalidRequirement:
            named = None
        if named is None or named.specifier or named.url or named.marker:
            self._wrong(
                "package", f"{text!r} is not a package's name, such as rq or uvicorn[standard]"
            )
        return canonicalize_name(named.name), tuple(sorted(map(canonicalize_name, named.extras)))

    def _pins(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        pins = self._texts(table, "", "with", default=())
        if pins and "package" not in table:
            self._wrong("with", "is for a package, and there is none")
        names: set[str] = set()
        for text in pins:
            try:
                pin = Requirement(text)
            except InvalidRequirement as error:
                self._wrong("with", f"{text!r} is not a requirement: {error}")
            if [one.operator for one in pin.specifier] != ["=="]:
                self._wrong("with", f"{text!r} is not pinned: NAME==VERSION")
            name = canonicalize_name(pin.name)
            if name in names:
                self._wrong("with", f"{name} is there twice")
            names.add(name)
        return pins

    def _parameters(self, table: Mapping[str, Any]) -> Mapping[str, int | float | str]:
        found = self._table(table, "", "parameters")
        for name, value in found.items():
            here = f"parameters.{name}"
            if not _PARAMETER.fullmatch(name) or name in _TAKEN:
                self._wrong(here, "is not a name, or one that has a meaning already")
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                self._wrong(here, "is neither a number nor a text")
        return found

    def _stop(self, table: Mapping[str, Any]) -> str:
        name: str = self._get(table, "", "stop", str, "TERM").removeprefix("SIG")
        if not hasattr(signal, f"SIG{name}"):
            self._wrong("stop", f"{name!r} is not a signal, such as TERM or INT")
        return name

    def _file(self, path: Path, name: str) -> Path:
        if Path(name).name != name or not path.is_file():
            self._wrong("files", f"there is no file {name!r} beside it")
        return path

    def _seconds(self, table: Mapping[str, Any], at: str, key: str, default: float) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong(_join(at, key), "is not a number of seconds")
        if not 0 < value <= _MOST_S:
            self._wrong(_join(at, key), f"is not above zero and at most {_MOST_S:g} seconds")
        return float(value)

    def _texts(
        self, table: Mapping[str, Any], at: str, key: str, default: tuple[str, ...]
    ) -> tuple[str, ...]:
        found = table.get(key, list(default))
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self._wrong(_join(at, key), "is not a list of texts")
        return tuple(found)

    def _table(self, table: Mapping[str, Any], at: str, key: str) -> dict[str, Any]:
        found = table.get(key, {})
        if not isinstance(found, dict):
            self._wrong(_join(at, key), "is not a table")
        return found

    def _get(
        self,
        table: Mapping[str, Any],
        at: str,
        key: str,
        kind: type[_Value],
        default: _Value | None,
    ) -> Any:
        found = table.get(key, default)
        if found is not default and not isinstance(found, kind):
            what = {str: "a text", bool: "true or false"}[kind]
            self._wrong(_join(at, key), f"is not {what}")
        return found

    def _only(self, table: Mapping[str, Any], at: str, *keys: str) -> None:
        for key in table:
            if key not in keys:
                self._wrong(_join(at, key), f"is not known here. There are: {', '.join(keys)}")

    def _wrong(self, key: str, why: str) -> NoReturn:
        line = _line_of(self.text, key)
        where = f", line {line}" if line else ""
        raise UsageError(f"{self.shown}{where}: {key}: {why}.")


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _line_of(text: str, key: str) -> int | None:
    """The line that sets a key, as far as that can be told without a parser of our own.

    The longest beginning of the key that some line sets: a table in braces is on the line of its
    own key.
    """
    parts = key.split(".")
    for count in range(len(parts), 0, -1):
        wanted = parts[:count]
        for number, found in _keys(text):
            if found == wanted:
                return number
    return None


def _keys(text: str) -> Iterator[tuple[int, list[str]]]:
    """The keys that lines set, each with its table's, by number of line."""
    table: list[str] = []
    clean: Callable[[str], list[str]] = lambda name: [  # noqa: E731
        part.strip().strip("\"'") for part in name.split(".")
    ]
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+([^\]]+)\]", line)
        if header:
            table = clean(header[1])
            yield number, table
        elif (setting := re.match(r"\s*([^=#\[]+?)\s*=", line)) is not None:
            yield number, [*table, *clean(setting[1])]
