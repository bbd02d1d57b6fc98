"""Reads worker files. Errors name table and key."""

import hashlib
import re
import shlex
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, UnsetType
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from waitbench.engines.worker.metrics import declared_metrics
from waitbench.model import worker as tables
from waitbench.model.conditions import Answer, Condition, Elapsed, Readiness, Words
from waitbench.model.errors import UsageError, hint
from waitbench.model.metrics import BY_NAME
from waitbench.model.placeholders import IN_BUILD, NOT_IN_SERVICES, PLACEHOLDER, PLACEHOLDERS
from waitbench.model.worker import UNTIL_EXIT, WorkerFile, WorkerTable, stopped_after
from waitbench.system import files

PHASE = "phase"

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_RESERVED = {
    *PLACEHOLDERS, *IN_BUILD, PHASE, "processes", "workers", "silence", "window", "rate", "file",
    "sha256",
}  # fmt: skip
_TABLES = (
    WorkerTable,
    tables.Build,
    tables.ServiceFile,
    tables.Poke,
    tables.Phase,
    tables.MetricFile,
)
_CONDITIONS = {*Readiness.__subclasses__(), *Answer.__subclasses__()}
_KEYS = [
    *(key for table in _TABLES for key in table.__struct_encode_fields__),
    *(condition.key for condition in _CONDITIONS),
]
_ANY = "[...]"
"""The name of any key of a table in errors of msgspec."""
_MAX_BYTES = 2**20
"""The limit for one key, which takes time quadratic in their number to read; and for each text
beside the file that results keep and other machines get."""
_MAX_NUMBER = 1e15
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_SHELL = re.compile(r"(?:^|(?<=\s))(?:[|&;]+|&?\d*[<>]\S*)(?=\s|$)|(?<=\S)[;&](?=\s|$)")
"""Shell syntax: pipes, redirections, ends of commands."""


def read(path: Path) -> WorkerFile:
    """Reads and validates a worker file. Raises ``UsageError`` with table and key."""
    shown = f"--worker {str(path)!r}"
    try:
        content = files.read(path, named=True, most=_MAX_BYTES)
        table = files.parse_toml(content, dict[str, object])
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UsageError(f"{shown} is not TOML: {error}.") from error
    if not _NAME.fullmatch(path.stem):
        raise UsageError(
            f"{shown}: results are named after {path.stem!r}. Rename the file: lower-case "
            "letters, digits and dashes, beginning with a letter."
        )
    try:
        converted = _converted(table)
        _require_sense(converted)
        return _located(converted, path.resolve(), content)
    except _WrongError as error:
        raise UsageError(f"{shown}: {error}.") from error


def needs_python(worker: WorkerFile) -> bool:
    """Whether it installs packages, or a command line names a Python."""
    is_installed = bool(
        worker.package or worker.extra_requirements or worker.python or worker.module
    )
    return is_installed or any("python" in text for _, text, _ in _texts(worker))


def has_changed(worker: WorkerFile) -> bool:
    """Whether it or one of its files was edited since it was read."""
    try:
        return not files.is_file(worker.path) or read(worker.path).sha256 != worker.sha256
    except UsageError:
        return True


class _WrongError(Exception):
    """An error at a key."""


def _wrong(key: str, why: str) -> NoReturn:
    raise _WrongError(f"{key}: {why}")


def _converted(table: dict[str, Any]) -> WorkerTable:
    """Converts a file's values. Raises ``_WrongError``."""
    try:
        return msgspec.convert(table, WorkerTable, dec_hook=_special)
    except msgspec.ValidationError as error:
        message, *places = str(error).split(" - at `")
        place = ".".join(
            it.removeprefix("key` in `").removeprefix("$").strip("`.") for it in reversed(places)
        )
        if "` in `" in str(error):
            place += _ANY
        while _ANY in place:
            place = _with_name(place, table, str(error))
        if unknown := re.fullmatch("Object contains unknown field `(.*)`", message):
            there = hint(unknown[1], _KEYS, " (docs/worker-files.md has all)")
            message = f"there is no key {unknown[1]!r}{there}"
        if value := re.fullmatch("Invalid enum value (.*)", message):
            message = f'{value[1]} is neither a number of seconds nor "{UNTIL_EXIT}"'
        raise _WrongError(f"{place}: {message}" if place else message) from error


def _with_name(place: str, table: dict[str, Any], error: str) -> str:
    """Completes the first omitted name in a place: that which alone gives the same error."""
    before, _, after = place.partition(_ANY)
    entries = reduce(lambda within, key: within[key], before.split("."), table)
    for name, value in [*entries.items()]:
        entries.clear()
        entries[name] = value
        try:
            msgspec.convert(table, WorkerTable, dec_hook=_special)
        except msgspec.ValidationError as single:
            if str(single) == error:
                shown = name if re.fullmatch(r"[\w-]+", name) else repr(name)
                return f"{before}.{shown}{after}"
    raise AssertionError("one of them is wrong")


def _special(kind: type, given: object) -> object:
    """Converts a command line, or a condition. Raises ``ValueError``."""
    return _condition(kind, given) if issubclass(kind, Condition) else _words(given)


def _condition(place: type[Condition], given: object) -> Condition:
    """Converts a table of one key of a condition, and ``within``. Raises ``ValueError``."""
    kinds = {kind.key: kind for kind in place.__subclasses__()}
    fields = [(key, kind.accepts | UnsetType, UNSET) for key, kind in kinds.items()]
    table = msgspec.defstruct(
        place.__name__, [*fields, ("within", tables.Seconds, 30.0)], forbid_unknown_fields=True
    )
    try:
        values = msgspec.structs.asdict(msgspec.convert(given, table, dec_hook=_special))
    except msgspec.ValidationError as error:
        # msgspec adds the place of the condition to a plain ``ValueError`` only.
        raise ValueError(str(error)) from error
    within = values.pop("within")
    named = [kinds[key](value, within) for key, value in values.items() if value is not UNSET]
    if len(named) != 1:
        raise ValueError(f"it needs exactly one of {', '.join(kinds)}, such as {{ port = true }}")
    return named[0]


def _words(given: object) -> Words:
    """Converts a command line, or a list of words. Raises ``ValueError``."""
    words = given
    if isinstance(given, str):
        sign = _SHELL.search(_QUOTED.sub("_", given))
        if sign is not None:
            raise ValueError(f'{sign[0]} needs a shell, such as ["sh", "-c", "…"]')
        try:
            words = shlex.split(given)
        except ValueError as error:
            raise ValueError(f"it is not a command line: {error}") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("it is neither a text nor a list of texts")
    if not words or not words[0]:
        raise ValueError("it names no program")
    if any("\0" in word for word in words):
        raise ValueError("it has a NUL character")
    return Words(words)


def _located(table: WorkerTable, path: Path, content: bytes) -> WorkerFile:
    digest, texts = hashlib.sha256(content), {path.name: content.decode("utf-8")}
    for name in table.files:
        file = path.parent / name
        if Path(name).name != name or not file.is_file():
            _wrong("files", f"there is no file {name!r} beside it")
        try:
            held = files.read(file, named=True)
        except OSError as error:
            _wrong("files", f"{name!r} cannot be read: {error.strerror}")
        digest.update(name.encode())
        digest.update(held)
        if len(held) <= _MAX_BYTES:
            with suppress(UnicodeDecodeError):
                texts[name] = held.decode("utf-8")
    given = {name: getattr(table, name) for name in WorkerTable.__struct_fields__}
    given["package"], extras = _package(table.package)
    default = Elapsed(0.0 if table.window_s == UNTIL_EXIT else 1.0)
    given.update(ready=table.ready or default, settled=table.settled or default)
    given["stop"] = table.stop.removeprefix("SIG")
    given.update(extras=extras, name=path.stem, path=path, sha256=digest.hexdigest(), texts=texts)
    return WorkerFile(**given)


def _package(text: str | None) -> tuple[NormalizedName | None, tuple[str, ...]]:
    if text is None:
        return None, ()
    try:
        named = Requirement(text)
    except InvalidRequirement:
        named = None
    if named is None or named.specifier or named.url or named.marker:
        _wrong("package", f"{text!r} is not a package's name, such as rq or uvicorn[standard]")
    return canonicalize_name(named.name), tuple(sorted(map(canonicalize_name, named.extras)))


def _require_sense(table: WorkerTable) -> None:
    """Raises ``_WrongError`` for values, or combinations of keys, that make no sense."""
    signals = {f"services.{name}.stop": service.stop for name, service in table.services.items()}
    for key, name in {"stop": table.stop, **signals}.items():
        if f"SIG{name.removeprefix('SIG')}" not in signal.Signals.__members__:
            _wrong(key, f"{name!r} is not a signal, such as TERM or INT")
    _require_parameters(table)
    _require_metrics(table)
    _require_pins(table)
    _require_revisions(table)
    if table.window_s == UNTIL_EXIT:
        for name in ("settled", "poke", "background"):
            if getattr(table, name):
                _wrong(name, "does not go with a window until exit")
    if table.scenarios and table.poke and table.poke.rate:
        _wrong("poke.rate", "does not go with [scenarios.NAME]")
    _require_phases(table)
    _require_placeholders(table)


def _require_revisions(table: WorkerTable) -> None:
    kinds = [name for name in ("build", "variants", "package") if getattr(table, name)]
    if len(kinds) > 1:
        _wrong(kinds[0], f"does not go with {kinds[1]}: a revision is of one kind")
    if table.build is None:
        return
    words, takes_source = " ".join(table.build.command), table.build.takes_source
    if "{prefix}" not in words or not ("{revision}" in words or takes_source):
        _wrong("build.command", "it needs {prefix}, its folder, and {revision} or {source}")
    if table.repository and not takes_source:
        _wrong("repository", "build.command has no {source}, so revisions are releases")
    if table.build.versions and takes_source:
        _wrong("build.versions", "build.command has {source}, so revisions are commits and tags")


def _require_phases(table: WorkerTable) -> None:
    if table.phases and (table.scenarios or table.window_s == UNTIL_EXIT):
        _wrong(PHASE, "does not go with [scenarios.NAME], or with a window until exit")
    for place, phase in enumerate(table.phases):
        key, before = f"{PHASE}.{phase.name}", table.phases[:place]
        gone = stopped_after(before)
        if phase.name in (it.name for it in before):
            _wrong(key, "its name is used twice")
        if phase.poke and table.poke is None:
            _wrong(f"{key}.poke", "the file has no table [poke]")
        if phase.stop is not None and phase.stop not in {*table.services} - gone:
            _wrong(f"{key}.stop", f"no service {phase.stop!r} runs then")
        if phase.start is not None and phase.start not in gone:
            _wrong(f"{key}.start", f"no phase before it has stopped a service {phase.start!r}")
        if phase.close and table.stdin is None:
            _wrong(f"{key}.close", 'the file has no stdin = "open"')
        if phase.close and any(it.close for it in before):
            _wrong(f"{key}.close", "a phase before it has closed it")
        if before and before[-1].must_end:
            _wrong(key, f"the worker must end in the phase before it, {before[-1].name}")
        if phase.seconds is None and table.settled is not None and table.settled.is_event:
            _wrong(f"{key}.seconds", f"is needed, as settled.{table.settled.key} comes once")


def _require_placeholders(table: WorkerTable) -> None:
    named = set()
    for key, text, known in _texts(table):
        for name in PLACEHOLDER.findall(text):
            if name not in known:
                there = hint(f"{{{name}}}", (f"{{{it}}}" for it in sorted(known)))
                _wrong(key, f"nothing fills {{{name}}}{there}")
            named.add(name)
    if not (table.package or table.build) and "revision" not in named:
        what = "variant" if table.variants else "program"
        _wrong("command", f"there is no package, so it needs {{revision}}: the {what}")
    resets = [phase.name for phase in table.phases if phase.reset is not None]
    if resets and "port" not in named:
        _wrong(f"{PHASE}.{resets[0]}.reset", "the command needs {port}: the client connects to it")
    if table.metrics and "metrics" not in named:
        _wrong("metrics", "the command needs {metrics}: the file that it writes them to")


def _texts(table: WorkerTable) -> Iterator[tuple[str, str, set[str]]]:
    """Yields each text that may have placeholders, with its key and those known there."""
    usable = {name for name, is_in in PLACEHOLDERS.items() if is_in(table)}
    known = {*table.parameters, *usable} - NOT_IN_SERVICES
    for name, service in table.services.items():
        for key in ("command", "ready", "counters"):
            texts = _flat(f"services.{name}.{key}", getattr(service, key))
            yield from ((*text, {*known}) for text in texts)
        known |= {f"{name}.port", f"{name}.folder"}
    if table.build is not None:
        yield from (("build.command", word, IN_BUILD) for word in table.build.command)
        yield from (("build.versions", word, {"here"}) for word in table.build.versions)
    parts: dict[str, object] = {key: getattr(table, key) for key in ("command", "ready", "settled")}
    if table.poke is not None:
        parts |= {"poke.command": table.poke.command, "poke.done": table.poke.done}
    for phase in table.phases:
        parts |= {f"{PHASE}.{phase.name}.{key}": getattr(phase, key) for key in ("run", "reset")}
    parts |= {f"environment.{name}": text for name, text in table.environment.items()}
    for key, part in parts.items():
        yield from ((*text, known | usable) for text in _flat(key, part))


def _flat(key: str, part: object) -> Iterator[tuple[str, str]]:
    """Yields the texts of a value, a command line or a condition, with their keys."""
    if isinstance(part, Condition) and part.has_placeholders:
        yield from _flat(f"{key}.{part.key}", part.value)
    elif isinstance(part, Words):
        yield from ((key, word) for word in part)
    elif isinstance(part, str):
        yield key, part


def _require_parameters(table: WorkerTable) -> None:
    for name, value in table.parameters.items():
        if name in _RESERVED:
            _wrong(f"parameters.{name}", "is a placeholder already: rename it")
        if not isinstance(value, str) and not abs(value) < _MAX_NUMBER:
            _wrong(f"parameters.{name}", f"is not a number below {_MAX_NUMBER:g}")
    for scenario, values in table.scenarios.items():
        for name, value in values.items():
            key, default = f"scenarios.{scenario}.{name}", table.parameters.get(name)
            if default is None:
                _wrong(key, f"is not a key of [parameters]{hint(name, table.parameters)}")
            if isinstance(value, str) != isinstance(default, str):
                _wrong(key, f"{value!r} is not of the type of the default, {default!r}")


def _require_metrics(table: WorkerTable) -> None:
    taken = {*BY_NAME}
    for name, file in table.metrics.items():
        for metric in declared_metrics(name, file):
            if metric.name in taken:
                _wrong(f"metrics.{name}", f"there is a metric {metric.name} already: rename it")
            taken.add(metric.name)


def _require_pins(table: WorkerTable) -> None:
    try:
        SpecifierSet(table.python)
    except InvalidSpecifier:
        _wrong("python", f'{table.python!r} is not understood: write it as in ">=3.9,<3.13"')
    for key, value in (("with", table.extra_requirements), ("exclude-newer", table.exclude_newer)):
        if value and not (table.package or table.variants or table.build):
            _wrong(key, "is for a package, variants or a build, and there are none")
    for text in table.extra_requirements:
        try:
            pin = Requirement(text)
        except InvalidRequirement as error:
            _wrong("with", f"{text!r} is not a requirement: {error}")
        if [it.operator for it in pin.specifier] != ["=="] or "*" in text:
            _wrong("with", f"{text!r} is not pinned: NAME==VERSION")
