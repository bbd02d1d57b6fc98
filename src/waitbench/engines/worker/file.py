"""Reads and checks worker files. Errors name the table and the key."""

import hashlib
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
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
from waitbench.model.launch import PLACEHOLDER
from waitbench.model.metrics import BY_NAME
from waitbench.model.worker import UNTIL_EXIT, WorkerFile, WorkerTable, stopped_after
from waitbench.system import files

PHASE = "phase"
PLACEHOLDERS: dict[str, Callable[[WorkerTable], object]] = {
    "port": lambda _table: True,
    "folder": lambda _table: True,
    "here": lambda _table: True,
    "python": lambda table: table.package or table.variants or table.build,
    "prefix": lambda table: table.build,
    "revision": lambda table: table.package is None,
    "metrics": lambda table: table.metrics,
}
"""The placeholders, fields of ``Site``, each with a test of whether a worker file can use it."""
NOT_IN_SERVICES = {"revision", "metrics"}
IN_BUILD = {"here", "python", "prefix", "revision", "source"}
"""The placeholders of ``build.command``; only ``source`` is not a field of ``Site``."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_RESERVED = {
    *PLACEHOLDERS, *IN_BUILD, PHASE, "processes", "workers", "silence", "window", "rate", "file",
    "sha256",
}  # fmt: skip
_CONDITIONS = {*Readiness.__subclasses__(), *Answer.__subclasses__()}
_KEYS = [
    *(key for table in tables.TomlTable.__subclasses__() for key in table.__struct_encode_fields__),
    *(condition.key for condition in _CONDITIONS),
]
_MAX_BYTES = 2**20
"""The limit of a worker file, as some TOML takes quadratic time, and of ``files`` in results."""
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_SHELL = re.compile(r"(?:^|(?<=\s))(?:[|&;]+|&?\d*[<>]\S*)(?=\s|$)|(?<=\S)[;&](?=\s|$)")
"""Operators of a shell: pipes, redirections, ends of commands."""


def read(path: Path) -> WorkerFile:
    """Reads a worker file, with defaults and normalised names. Raises ``UsageError``."""
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
        _check(converted)
        return _completed(converted, path.resolve(), content)
    except _InvalidKeyError as error:
        raise UsageError(f"{shown}: {error}.") from error


def needs_python(worker: WorkerFile) -> bool:
    """Whether a worker needs a virtualenv: for its packages, or for ``python`` in its commands."""
    is_installed = bool(
        worker.package or worker.extra_requirements or worker.python or worker.module
    )
    return is_installed or any("python" in text for _, text, _ in _texts(worker))


def has_changed(worker: WorkerFile) -> bool:
    """Whether a worker file, or one of its ``files``, was edited since it was read."""
    try:
        return not files.is_file(worker.path) or read(worker.path).sha256 != worker.sha256
    except UsageError:
        return True


class _InvalidKeyError(Exception):
    """An error in a worker file, whose message names the key."""


def _reject(key: str, why: str) -> NoReturn:
    raise _InvalidKeyError(f"{key}: {why}")


def _converted(table: dict[str, Any]) -> WorkerTable:
    """Converts a table to its type. Raises ``_InvalidKeyError``."""
    try:
        return msgspec.convert(table, WorkerTable, dec_hook=_convert_hook)
    except msgspec.ValidationError as error:
        message, *places = str(error).split(" - at `")
        place = ".".join(
            part.removeprefix("key` in `").removeprefix("$").strip("`.")
            for part in reversed(places)
        )
        # msgspec omits names that the file chooses.
        place = place.replace("[...]", ".NAME") + ".NAME" * ("` in `" in str(error))
        if unknown := re.fullmatch("Object contains unknown field `(.*)`", message):
            remedy = hint(unknown[1], _KEYS, " (docs/worker-files.md has all)")
            message = f"there is no key {unknown[1]!r}{remedy}"
        if value := re.fullmatch("Invalid enum value (.*)", message):
            message = f'{value[1]} is neither a number of seconds nor "{UNTIL_EXIT}"'
        raise _InvalidKeyError(f"{place}: {message}" if place else message) from error


def _convert_hook(kind: type, given: object) -> object:
    """Converts a command line, or a condition. Raises ``ValueError``."""
    return _condition(kind, given) if issubclass(kind, Condition) else _words(given)


def _condition(base: type[Condition], given: object) -> Condition:
    """Converts a table with the key of a condition, and ``within``. Raises ``ValueError``."""
    kinds = {kind.key: kind for kind in base.__subclasses__()}
    fields = [(key, kind.accepts | UnsetType, UNSET) for key, kind in kinds.items()]
    table = msgspec.defstruct(
        base.__name__, [*fields, ("within", tables.Seconds, 30.0)], forbid_unknown_fields=True
    )
    try:
        values = msgspec.structs.asdict(msgspec.convert(given, table, dec_hook=_convert_hook))
    except msgspec.ValidationError as error:
        # msgspec adds the place in the file only to a ``ValueError`` of no subclass.
        raise ValueError(str(error)) from error
    within = values.pop("within")
    conditions = [kinds[key](value, within) for key, value in values.items() if value is not UNSET]
    if len(conditions) != 1:
        raise ValueError(f"it needs exactly one of {', '.join(kinds)}, such as {{ port = true }}")
    return conditions[0]


def _words(given: object) -> Words:
    """Converts a text or a list of words to a command line. Raises ``ValueError``."""
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


def _completed(table: WorkerTable, path: Path, content: bytes) -> WorkerFile:
    """Adds defaults, normalised names, and the digest and texts of all files."""
    digest, texts = hashlib.sha256(content), {path.name: content.decode("utf-8")}
    for name in table.files:
        file = path.parent / name
        if Path(name).name != name or not file.is_file():
            _reject("files", f"there is no file {name!r} beside it")
        try:
            file_content = files.read(file, named=True)
        except OSError as error:
            _reject("files", f"{name!r} cannot be read: {error.strerror}")
        digest.update(name.encode())
        digest.update(file_content)
        if len(file_content) <= _MAX_BYTES:
            with suppress(UnicodeDecodeError):
                texts[name] = file_content.decode("utf-8")
    package, extras = _package(table.package)
    default = Elapsed(0.0 if table.window_s == UNTIL_EXIT else 1.0)
    fields = {name: getattr(table, name) for name in WorkerTable.__struct_fields__}
    fields |= {
        "package": package,
        "ready": table.ready or default,
        "settled": table.settled or default,
        "stop": table.stop.removeprefix("SIG"),
    }
    return WorkerFile(
        **fields, extras=extras, name=path.stem, path=path, sha256=digest.hexdigest(), texts=texts
    )


def _package(text: str | None) -> tuple[NormalizedName | None, tuple[str, ...]]:
    """Splits a package, such as ``uvicorn[standard]``, into its name and its extras."""
    if text is None:
        return None, ()
    try:
        package = Requirement(text)
    except InvalidRequirement:
        package = None
    if package is None or package.specifier or package.url or package.marker:
        _reject("package", f"{text!r} is not a package's name, such as rq or uvicorn[standard]")
    return canonicalize_name(package.name), tuple(sorted(map(canonicalize_name, package.extras)))


def _check(table: WorkerTable) -> None:
    """Raises ``_InvalidKeyError`` for values, or combinations of keys, that are invalid."""
    signals = {f"services.{name}.stop": service.stop for name, service in table.services.items()}
    for key, name in {"stop": table.stop, **signals}.items():
        if f"SIG{name.removeprefix('SIG')}" not in signal.Signals.__members__:
            _reject(key, f"{name!r} is not a signal, such as TERM or INT")
    _require_parameters(table)
    _require_metrics(table)
    _require_pins(table)
    _require_revisions(table)
    if table.window_s == UNTIL_EXIT:
        for name in ("settled", "poke", "background"):
            if getattr(table, name):
                _reject(name, "does not go with a window until exit")
    if table.scenarios and table.poke and table.poke.rate:
        _reject("poke.rate", "does not go with [scenarios.NAME]")
    _require_phases(table)
    _require_placeholders(table)


def _require_revisions(table: WorkerTable) -> None:
    kinds = [name for name in ("build", "variants", "package") if getattr(table, name)]
    if len(kinds) > 1:
        _reject(kinds[0], f"does not go with {kinds[1]}: a revision is of one kind")
    if table.build is None:
        return
    words, takes_source = " ".join(table.build.command), table.build.takes_source
    if "{prefix}" not in words or not ("{revision}" in words or takes_source):
        _reject("build.command", "it needs {prefix}, its folder, and {revision} or {source}")
    if table.repository and not takes_source:
        _reject("repository", "build.command has no {source}, so revisions are releases")
    if table.build.versions and takes_source:
        _reject("build.versions", "build.command has {source}, so revisions are commits and tags")


def _require_phases(table: WorkerTable) -> None:
    if table.phases and (table.scenarios or table.window_s == UNTIL_EXIT):
        _reject(PHASE, "does not go with [scenarios.NAME], or with a window until exit")
    for number, phase in enumerate(table.phases):
        key, before = f"{PHASE}.{phase.name}", table.phases[:number]
        stopped = stopped_after(before)
        if any(earlier.name == phase.name for earlier in before):
            _reject(key, "its name is used twice")
        if phase.poke and table.poke is None:
            _reject(f"{key}.poke", "the file has no table [poke]")
        if phase.stop is not None and phase.stop not in {*table.services} - stopped:
            _reject(f"{key}.stop", f"no service {phase.stop!r} runs then")
        if phase.start is not None and phase.start not in stopped:
            _reject(f"{key}.start", f"no phase before it has stopped a service {phase.start!r}")
        if phase.close and table.stdin is None:
            _reject(f"{key}.close", 'the file has no stdin = "open"')
        if phase.close and any(earlier.close for earlier in before):
            _reject(f"{key}.close", "a phase before it has closed it")
        if before and before[-1].must_end:
            _reject(key, f"the worker must end in the phase before it, {before[-1].name}")
        settled = table.settled if phase.seconds is None and not phase.must_end else None
        if settled is not None and settled.is_event:
            _reject(f"{key}.seconds", f"is needed, as settled.{settled.key} happens once")


def _require_placeholders(table: WorkerTable) -> None:
    used = set()
    for key, text, known in _texts(table):
        for name in PLACEHOLDER.findall(text):
            if name not in known:
                remedy = hint(f"{{{name}}}", (f"{{{other}}}" for other in sorted(known)))
                _reject(key, f"nothing fills {{{name}}}{remedy}")
            used |= set() if key.startswith(("services.", "poke.")) else {name}
    if not (table.package or table.build) and "revision" not in used:
        kind = "variant" if table.variants else "program"
        _reject("command", f"there is no package, so it needs {{revision}}: the {kind}")
    resets = [phase.name for phase in table.phases if phase.reset is not None]
    if resets and "port" not in used:
        _reject(f"{PHASE}.{resets[0]}.reset", "the command needs {port}: the client connects to it")
    if table.metrics and "metrics" not in used:
        _reject("metrics", "the command needs {metrics}: the file that it writes them to")


def _texts(table: WorkerTable) -> Iterator[tuple[str, str, set[str]]]:
    """Yields key, text and known placeholders of each text that may have placeholders."""
    tables = {f"scenarios.{name}": values for name, values in table.scenarios.items()}
    for key, values in {"parameters": table.parameters, **tables}.items():
        for name, value in values.items():
            yield from ((*text, set()) for text in _flat(f"{key}.{name}", value))
    usable = {name for name, is_usable in PLACEHOLDERS.items() if is_usable(table)}
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
    """Yields key and text of each text in a value: a text, a command line, or a condition."""
    if isinstance(part, Condition) and part.has_placeholders:
        yield from _flat(f"{key}.{part.key}", part.value)
    elif isinstance(part, Words):
        yield from ((key, word) for word in part)
    elif isinstance(part, str):
        yield key, part


def _require_parameters(table: WorkerTable) -> None:
    for name in table.parameters:
        if name in _RESERVED:
            _reject(f"parameters.{name}", "is a placeholder already: rename it")
    for scenario, values in table.scenarios.items():
        for name, value in values.items():
            key, default = f"scenarios.{scenario}.{name}", table.parameters.get(name)
            if default is None:
                _reject(key, f"is not a key of [parameters]{hint(name, table.parameters)}")
            if isinstance(value, str) != isinstance(default, str):
                _reject(key, f"{value!r} is not of the type of the default, {default!r}")


def _require_metrics(table: WorkerTable) -> None:
    taken = {*BY_NAME}
    for name, file in table.metrics.items():
        for metric in declared_metrics(name, file):
            if metric.name in taken:
                _reject(f"metrics.{name}", f"there is a metric {metric.name} already: rename it")
            taken.add(metric.name)


def _require_pins(table: WorkerTable) -> None:
    try:
        SpecifierSet(table.python)
    except InvalidSpecifier:
        _reject("python", f'{table.python!r} is not understood: write it as in ">=3.9,<3.13"')
    if table.extra_requirements and not (table.package or table.variants or table.build):
        _reject("with", "is for a package, variants or a build, and there are none")
    for text in table.extra_requirements:
        try:
            pin = Requirement(text)
        except InvalidRequirement as error:
            _reject("with", f"{text!r} is not a requirement: {error}")
        if [clause.operator for clause in pin.specifier] != ["=="] or "*" in text:
            _reject("with", f"{text!r} is not pinned: NAME==VERSION")
