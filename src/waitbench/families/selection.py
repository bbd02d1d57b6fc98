"""Names -> Scenarios: what a user named, with the settings that go with it."""

import ast
import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from waitbench.families import ALL
from waitbench.families.worker.scenarios import scenarios_of
from waitbench.model.errors import UsageError
from waitbench.model.scan import TOPOLOGY, Scan
from waitbench.model.scenario import Family, Scenario, Value
from waitbench.model.worker import WorkerFile
from waitbench.system import files
from waitbench.system.places import DATAFLOWS

_UNPARSABLE = (SyntaxError, ValueError, MemoryError, RecursionError)
"""What Python's parser raises; the last two where something is nested too deeply."""

_MOST_OF_NAME = 200
"""Bytes of a name to which suffixes are added; file systems allow 255."""

_USERS = Family(
    name="user", items=lambda _parameters, _topology: None, lasts_s=lambda _parameters: 60.0
)
"""The family of every dataflow of a user's own: nothing is known of it."""


def select(
    patterns: Sequence[str],
    settings: Sequence[str],
    *,
    quick: bool = False,
    with_coarse: bool = False,
) -> tuple[Scenario, ...]:
    """The scenarios that any of the globs match (without a glob, the default ones), with settings.

    ``with_coarse`` adds the coarse scenarios to the default ones, for the gate.

    Settings are ``NAME=VALUE``. ``quick`` first shortens each scenario as its family says, where it
    uses the parameter at all.

    Raises ``UsageError`` for a glob that matches none, for a setting that no selected scenario has,
    and for what contradicts itself or makes one scenario another.
    """
    chosen = _matching(patterns)
    if with_coarse and not patterns:
        chosen += [scenario for scenario in ALL if scenario.coarse]
    if quick:
        chosen = [_shortened(scenario) for scenario in chosen]
    given: set[str] = set()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r} is not NAME=VALUE, such as --set interval=0.1")
        if name in given:
            raise UsageError(f"--set {name} is given twice: name it once.")
        given.add(name)
        if not any(name in scenario.parameters for scenario in chosen):
            known = sorted({parameter for scenario in chosen for parameter in scenario.parameters})
            raise UsageError(
                f"--set {name}: no selected scenario has it. They have: {', '.join(known)}."
            )
        chosen = [_with_setting(scenario, name, text) for scenario in chosen]
    for scenario in chosen:
        _require_sense(scenario, settings)
    return tuple(chosen)


def scanned(
    patterns: Sequence[str], settings: Sequence[str], scan: Scan, *, quick: bool = False
) -> tuple[Scenario, ...]:
    """The selected scenarios that have the parameter of a scan, each once for each of its values.

    Without a glob, the one in which nothing comes in.

    Raises ``UsageError`` as ``select`` does.
    """
    patterns = patterns or ["partitioned-idle"]
    if any(setting.startswith(f"{scan.parameter}=") for setting in settings):
        raise UsageError(f"--set and --scan both name {scan.parameter}: leave one of them out.")
    found: dict[str, list[Scenario]] = {}
    for value in scan.values:
        for one in select(patterns, [*settings, *scan.settings(value)], quick=quick):
            if scan.parameter in (*one.parameters, *TOPOLOGY):
                found.setdefault(one.name, []).append(at_value(one, scan, value))
    return tuple(one for of_scenario in found.values() for one in of_scenario)


def scanned_calls(text: str, scan: Scan) -> tuple[Scenario, ...]:
    """A user's own dataflow, with each value of a scan where the call has its name in braces.

    Raises ``UsageError``.
    """
    place = f"{{{scan.parameter}}}"
    if scan.parameter not in TOPOLOGY and place not in text:
        raise UsageError(
            f"--scan {scan.parameter}: write {place} where it belongs into --dataflow, such as "
            f"flow.py:get_flow({place})."
        )
    return tuple(
        at_value(of_user(text.replace(place, str(value))), scan, value) for value in scan.values
    )


def at_value(scenario: Scenario, scan: Scan, value: int | float) -> Scenario:
    """A scenario that has this value already, as one of a scan."""
    point = scan.point(scenario.name, value)
    return replace(scenario, name=scan.name_at(scenario.name, value), scan=point)


def of_worker(
    worker: WorkerFile, patterns: Sequence[str], settings: Sequence[str], *, quick: bool
) -> tuple[Scenario, ...]:
    """The scenarios of a worker file that any of the globs match, with settings.

    ``quick`` as the gate has it. Raises ``UsageError`` for what a worker does not have.
    """
    chosen = scenarios_of(worker, quick=quick)
    if patterns:
        called = {one.name: (one.name, one.name.removeprefix(f"{worker.name}-")) for one in chosen}
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for names in called.values() for name in names):
                names_ = ", ".join(name for _, name in called.values())
                raise UsageError(f"--scenario {pattern!r} matches none of: {names_}.")
        chosen = tuple(
            one
            for one in chosen
            if any(fnmatchcase(name, glob) for name in called[one.name] for glob in patterns)
        )
    has_window = () if worker.ends_by_itself else ("window=SECONDS",)
    for setting in settings:
        name, equals, text = setting.partition("=")
        known = (*has_window, *(f"{one}=VALUE" for one in worker.parameters))
        if not equals or not any(one.startswith(f"{name}=") for one in known):
            what = f"set {', '.join(known)}" if known else "nothing can be set"
            raise UsageError(f"--set {setting}: of this worker, {what}.")
        chosen = tuple(_with_setting(scenario, name, text) for scenario in chosen)
    return chosen


def of_user(text: str) -> Scenario:
    """The scenario of a user's own dataflow, ``FILE.py:CALL``; the call is ``flow`` by default.

    It is validated as far as a file can be without running it. Raises ``UsageError``.
    """
    path_text, call = _split(text)
    path = Path(path_text)
    if path.suffix != ".py" or not files.is_file(path):
        raise UsageError(f"--dataflow {text!r}: there is no Python file {path_text!r}.")
    if not path.stem.isprintable() or len(os.fsencode(path.stem)) > _MOST_OF_NAME:
        raise UsageError(
            f"--dataflow {text!r}: its files are named after {path.name!r}, which is too long or "
            "cannot be shown everywhere. Name it through a link of another name."
        )
    if ":" in str(path.resolve()):
        raise UsageError(
            f"--dataflow {text!r}: its path has a colon in it, and engines take what follows one "
            "for the call. Move it, or name it through a link without one."
        )
    try:
        content = path.read_bytes()
        tree = ast.parse(content.decode("utf-8"), str(path))
    except OSError as error:
        raise UsageError(f"--dataflow {text!r} cannot be read: {error.strerror}.") from error
    except _UNPARSABLE as error:
        where = str(error) or "it is nested too deeply"
        if isinstance(error, SyntaxError):
            where = f"line {error.lineno}: {error.msg}"
        raise UsageError(f"--dataflow {text!r}: {path_text} does not parse: {where}.") from error
    name = _called_name(call)
    if name is None:
        raise UsageError(
            f"--dataflow {text!r}: {call!r} is not a name or a call, such as flow or get_flow(1)."
        )
    names = _names_of(tree)
    if name not in names and "*" not in names:
        raise UsageError(
            f"--dataflow {text!r}: {path_text} does not define {name!r} at its top level."
        )
    is_observed = "support" in _modules_of(tree)
    if is_observed and (DATAFLOWS / path.name).exists():
        raise UsageError(
            f"--dataflow {text!r}: {path.name} is also the name of a file of waitbench's, which "
            "Python may import in its place. Call yours otherwise."
        )
    taken = {scenario.name for scenario in ALL}
    return Scenario(
        # One name in files and tables; what is measured is known by its parameters.
        name=f"{path.stem}-of-yours" if path.stem in taken else path.stem,
        purpose=f"your dataflow {text}",
        family=_USERS,
        module=path.resolve(),
        call=call,
        parameters={
            "file": str(path.resolve()),
            "sha256": hashlib.sha256(content).hexdigest(),
            "call": call,
        },
        is_own=False,
        is_observed=is_observed,
    )


def _split(text: str) -> tuple[str, str]:
    """The path and the call in ``path.py:call``; a path may have colons, too."""
    end = text.rfind(".py:")
    if end < 0:
        return text, "flow"
    return text[: end + len(".py")], text[end + len(".py:") :] or "flow"


def _matching(patterns: Sequence[str]) -> list[Scenario]:
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in ALL):
            names = ", ".join(scenario.name for scenario in ALL)
            raise UsageError(f"--scenario {pattern!r} matches none of: {names}.")
    if not patterns:
        return [scenario for scenario in ALL if scenario.by_default]
    return [s for s in ALL if any(fnmatchcase(s.name, pattern) for pattern in patterns)]


def _shortened(scenario: Scenario) -> Scenario:
    """The scenario with its own and its family's quick settings.

    Nothing is set where a parameter is absent, or 0.
    """
    if scenario.coarse:
        return scenario
    for name, text in {**scenario.family.quick, **scenario.quick}.items():
        if scenario.parameters.get(name):
            scenario = _with_setting(scenario, name, text)
    return scenario


def _require_sense(scenario: Scenario, settings: Sequence[str]) -> None:
    """Raises ``UsageError`` where settings contradict each other, or make it another scenario."""
    whole = next(one for one in ALL if one.name == scenario.name)
    for setting in settings:
        name, _, text = setting.partition("=")
        whole = _with_setting(whole, name, text)
    why_senseless = scenario.family.why_senseless(scenario.parameters)
    if why_senseless is not None:
        raise UsageError(f"--set: {why_senseless}.")
    for other in ALL:
        if other.name != scenario.name and _is_same(other, whole):
            raise UsageError(
                f"--set makes {scenario.name} the same as {other.name}: name that with --scenario."
            )


def _is_same(one: Scenario, other: Scenario) -> bool:
    """Whether two scenarios would run the same."""
    return (one.module, one.topology, one.parameters) == (
        other.module, other.topology, other.parameters,
    )  # fmt: skip


def _with_setting(scenario: Scenario, name: str, text: str) -> Scenario:
    """The scenario with a setting, or unchanged where it does not have the parameter."""
    if name not in scenario.parameters:
        return scenario
    value = _parse(name, text, scenario.parameters[name])
    return replace(scenario, parameters={**scenario.parameters, name: value})


def _parse(name: str, text: str, default: Value) -> Value:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        value = type(default)(text)
    except (ValueError, KeyError) as error:
        raise UsageError(
            f"--set {name}={text}: not a {type(default).__name__}, such as {default!r}."
        ) from error
    if isinstance(value, (int, float)) and not 0 < value < 1e9:
        raise UsageError(f"--set {name}={text}: must be above zero and below 10⁹.")
    return value


def _called_name(call: str) -> str | None:
    """The name in ``flow`` or ``get_flow(1)``; ``None`` where it is neither a name nor a call."""
    try:
        expression = ast.parse(call, mode="eval").body
    except _UNPARSABLE:
        return None
    name = expression.func if isinstance(expression, ast.Call) else expression
    return name.id if isinstance(name, ast.Name) else None


def _modules_of(tree: ast.Module) -> set[str]:
    """The top-level packages that a file imports."""
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module.split(".")[0])
    return modules


def _names_of(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names
