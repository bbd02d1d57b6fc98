"""Names -> Scenarios: what a user named, with the settings that go with it."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from waitbench.families import ALL
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Family, Scenario, Value

_USERS = Family("user", items=lambda _parameters, _topology: None, lasts_s=lambda _parameters: 60.0)
"""A user's own dataflow: nothing is known of it."""


def select(patterns: Sequence[str], settings: Sequence[str], *, quick: bool = False) -> tuple[Scenario, ...]:
    """The scenarios that any of the globs match (the default ones without a glob), with ``NAME=VALUE`` settings applied.

    ``quick`` shortens each scenario as its family says, where it uses the parameter at all, before the user's settings.

    Raises ``UsageError`` for a glob that matches none, and for a setting that no selected scenario has.
    """
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in ALL):
            names = ", ".join(scenario.name for scenario in ALL)
            raise UsageError(f"--scenario {pattern!r} matches none of: {names}.")
    chosen = [s for s in ALL if any(fnmatchcase(s.name, p) for p in patterns) or (s.by_default and not patterns)]
    for position, scenario in enumerate(chosen if quick else []):
        # Not where a parameter is absent, or 0 for "none".
        shortened = {
            name: _parse(name, text, scenario.parameters[name])
            for name, text in scenario.family.quick.items()
            if scenario.parameters.get(name)
        }
        chosen[position] = replace(scenario, parameters={**scenario.parameters, **shortened})
    used: set[str] = set()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r} is not NAME=VALUE, such as --set interval=0.1")
        for position, scenario in enumerate(chosen):
            if name in scenario.parameters:
                used.add(name)
                value = _parse(name, text, scenario.parameters[name])
                chosen[position] = replace(scenario, parameters={**scenario.parameters, name: value})
        if name not in used:
            known = sorted({parameter for scenario in chosen for parameter in scenario.parameters})
            raise UsageError(f"--set {name}: no selected scenario has it. They have: {', '.join(known)}.")
    return tuple(chosen)


def of_user(text: str) -> Scenario:
    """The scenario of a user's own dataflow, ``FILE.py:CALL`` (``flow`` without a call). Raises ``UsageError``.

    Checked as far as a file can be without running it; the rest only the run can tell.
    """
    path_text, _, call = text.partition(":")
    call = call or "flow"
    path = Path(path_text)
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"--dataflow {text!r}: there is no Python file {path_text!r}.")
    try:
        tree = ast.parse(path.read_text("utf-8"), str(path))
    except (SyntaxError, ValueError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise UsageError(f"--dataflow {text!r}: {path_text} does not parse: {where}.") from error
    try:
        expression = ast.parse(call, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"--dataflow {text!r}: {call!r} is no name or call, such as flow or get_flow(1).") from error
    name = expression.func if isinstance(expression, ast.Call) else expression
    if not isinstance(name, ast.Name):
        raise UsageError(f"--dataflow {text!r}: {call!r} is no name or call, such as flow or get_flow(1).")
    names = _names_of(tree)
    if name.id not in names and "*" not in names:
        raise UsageError(f"--dataflow {text!r}: {path_text} defines no {name.id!r} at its top level.")
    return Scenario(path.stem, f"your dataflow {text}", _USERS, path.resolve(), call, is_own=False)


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


def _parse(name: str, text: str, default: Value) -> Value:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        value = type(default)(text)
    except (ValueError, KeyError) as error:
        raise UsageError(f"--set {name}={text}: not a {type(default).__name__}, such as {default!r}.") from error
    if isinstance(value, (int, float)) and not 0 < value < 1e9:
        raise UsageError(f"--set {name}={text}: must be above zero and below 10⁹.")
    return value
