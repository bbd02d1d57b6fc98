"""Selects scenarios by name, and applies settings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import ValidationError, convert

from waitbench.engines import SCENARIOS
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.model.errors import UsageError, hint
from waitbench.model.scenario import Scenario, Value
from waitbench.model.worker import WorkerFile
from waitbench.system.installation import called

_MOST_LISTED = 10
"""The most names that a message lists."""


def select(
    patterns: Sequence[str],
    settings: Sequence[str],
    *,
    worker: WorkerFile | None = None,
    quick: bool = False,
    for_gate: bool = False,
) -> tuple[Scenario, ...]:
    """Selects the scenarios that match any of ``patterns``, or else the default ones.

    Patterns for scenarios of ``worker`` may omit its name. ``settings`` are ``NAME=VALUE``.
    ``quick`` shortens scenarios as the gate does. ``for_gate`` adds the scenarios whose few rounds
    show large changes only.

    Raises ``UsageError`` for a pattern without a match, and for an unknown or invalid setting.
    """
    known = SCENARIOS if worker is None else scenarios_of(worker)
    chosen = _matching(known, patterns, "" if worker is None else f"{worker.name}-")
    if not patterns:
        chosen = [it for it in known if it.by_default or (for_gate and it.large_changes_only)]
    if quick:
        chosen = [scenario.shortened() for scenario in chosen]
    parts = [setting.partition("=") for setting in settings]
    names = [name for name, _, _ in parts]
    for name, sign, text in parts:
        if not sign:
            raise UsageError(f"--set {name!r} is not NAME=VALUE, such as --set interval=0.1")
        if names.count(name) > 1:
            raise UsageError(f"--set {name} is given twice: name it once.")
        settable = sorted({parameter for scenario in chosen for parameter in scenario.settable})
        if name not in settable:
            remedy = hint(name, settable)
            raise UsageError(f"--set {name}: no selected scenario has this parameter{remedy}.")
        chosen = [_with_setting(scenario, name, text) for scenario in chosen]
    return tuple(chosen)


def _matching(known: Sequence[Scenario], patterns: Sequence[str], prefix: str) -> list[Scenario]:
    """Returns the scenarios that match any of the patterns, with or without a prefix."""
    short_names = {scenario.name: scenario.name.removeprefix(prefix) for scenario in known}
    chosen = set[str]()
    for pattern in patterns:
        matching = {
            name
            for name, short_name in short_names.items()
            if fnmatchcase(name, pattern) or fnmatchcase(short_name, pattern)
        }
        if not matching:
            is_long = len(known) > _MOST_LISTED
            instead = f": {called('scenarios')} lists all {len(known)}" if is_long else ""
            remedy = hint(pattern, short_names.values(), instead)
            raise UsageError(f"--scenario {pattern!r} matches no scenario{remedy}.")
        chosen |= matching
    return [scenario for scenario in known if scenario.name in chosen]


def _with_setting(scenario: Scenario, name: str, text: str) -> Scenario:
    if name not in scenario.settable:
        return scenario
    value = _parse(name, text, scenario.parameters[name])
    return scenario.with_parameters({name: value})


def _parse(name: str, text: str, default: Value) -> Value:
    try:
        value: Value = convert(text, type(default), strict=False)
    except ValidationError as error:
        raise UsageError(f"--set {name}={text}: a value is such as {default!r}.") from error
    if not isinstance(value, (bool, str)) and not 0 < value < 1e9:
        raise UsageError(f"--set {name}={text}: must be above zero and below 10⁹.")
    return value
