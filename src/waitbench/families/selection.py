"""Names -> Scenarios: what a user named, with the settings that go with it."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from waitbench.families import ALL
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Family, Scenario, Value

_USERS = Family(
    name="user", items=lambda _parameters, _topology: None, lasts_s=lambda _parameters: 60.0
)
"""The family of every dataflow of a user's own: nothing is known of it."""


def select(
    patterns: Sequence[str], settings: Sequence[str], *, quick: bool = False
) -> tuple[Scenario, ...]:
    """The scenarios that any of the globs match (without a glob, the default ones), with settings.

    Settings are ``NAME=VALUE``. ``quick`` first shortens each scenario as its family says, where it
    uses the parameter at all.

    Raises ``UsageError`` for a glob that matches none, and for a setting that no selected scenario
    has.
    """
    chosen = _matching(patterns)
    if quick:
        chosen = [_shortened(scenario) for scenario in chosen]
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r} is not NAME=VALUE, such as --set interval=0.1")
        if not any(name in scenario.parameters for scenario in chosen):
            known = sorted({parameter for scenario in chosen for parameter in scenario.parameters})
            raise UsageError(
                f"--set {name}: no selected scenario has it. They have: {', '.join(known)}."
            )
        chosen = [_with_setting(scenario, name, text) for scenario in chosen]
    return tuple(chosen)


def of_user(text: str) -> Scenario:
    """The scenario of a user's own dataflow, ``FILE.py:CALL``; the call is ``flow`` by default.

    It is validated as far as a file can be without running it. Raises ``UsageError``.
    """
    path_text, _, call = text.partition(":")
    call = call or "flow"
    path = Path(path_text)
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"--dataflow {text!r}: there is no Python file {path_text!r}.")
    try:
        tree = ast.parse(path.read_text("utf-8"), str(path))
    except (SyntaxError, ValueError) as error:
        where = (
            f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        )
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
    return Scenario(
        name=path.stem,
        purpose=f"your dataflow {text}",
        family=_USERS,
        module=path.resolve(),
        call=call,
        is_own=False,
    )


def _matching(patterns: Sequence[str]) -> list[Scenario]:
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in ALL):
            names = ", ".join(scenario.name for scenario in ALL)
            raise UsageError(f"--scenario {pattern!r} matches none of: {names}.")
    if not patterns:
        return [scenario for scenario in ALL if scenario.by_default]
    return [s for s in ALL if any(fnmatchcase(s.name, pattern) for pattern in patterns)]


def _shortened(scenario: Scenario) -> Scenario:
    """The scenario with its family's quick settings, where a parameter is neither absent nor 0."""
    for name, text in scenario.family.quick.items():
        if scenario.parameters.get(name):
            scenario = _with_setting(scenario, name, text)
    return scenario


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
    except SyntaxError:
        return None
    name = expression.func if isinstance(expression, ast.Call) else expression
    return name.id if isinstance(name, ast.Name) else None


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
