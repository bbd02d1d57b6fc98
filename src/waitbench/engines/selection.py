"""Selects scenarios by name, with settings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import ValidationError, convert

from waitbench.engines import SCENARIOS
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.model.errors import UsageError, hint
from waitbench.model.scenario import Scenario, Value
from waitbench.model.worker import WorkerFile


def select(
    patterns: Sequence[str],
    settings: Sequence[str],
    *,
    worker: WorkerFile | None = None,
    quick: bool = False,
    for_gate: bool = False,
) -> tuple[Scenario, ...]:
    """Selects the scenarios that any glob matches, without globs the default ones, and sets them.

    Those of ``worker`` may be named without its name. ``for_gate`` adds those for large changes to
    the default ones; ``quick`` shortens scenarios as the gate does before they are set.

    Raises ``UsageError`` for a glob that matches none, and for a setting that none has.
    """
    known = SCENARIOS if worker is None else scenarios_of(worker)
    chosen = _matching(known, patterns, "" if worker is None else f"{worker.name}-")
    if not patterns:
        chosen = [it for it in known if it.by_default or (for_gate and it.large_changes_only)]
    if quick:
        chosen = [scenario.shortened() for scenario in chosen]
    names = [setting.partition("=")[0] for setting in settings]
    for name, setting in zip(names, settings, strict=True):
        if "=" not in setting:
            raise UsageError(f"--set {setting!r} is not NAME=VALUE, such as --set interval=0.1")
        if names.count(name) > 1:
            raise UsageError(f"--set {name} is given twice: name it once.")
        settable = sorted({parameter for scenario in chosen for parameter in scenario.settable})
        if name not in settable:
            there = hint(name, settable)
            raise UsageError(f"--set {name}: no selected scenario has this parameter{there}.")
        text = setting.partition("=")[2]
        chosen = [_with_setting(scenario, name, text) for scenario in chosen]
    return tuple(chosen)


def _matching(known: Sequence[Scenario], patterns: Sequence[str], prefix: str) -> list[Scenario]:
    names = {it.name: (it.name, it.name.removeprefix(prefix)) for it in known}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for both in names.values() for name in both):
            there = hint(pattern, (short for _, short in names.values()))
            raise UsageError(f"--scenario {pattern!r} matches no scenario{there}.")
    return [
        scenario
        for scenario in known
        if any(fnmatchcase(name, it) for name in names[scenario.name] for it in patterns)
    ]


def _with_setting(scenario: Scenario, name: str, text: str) -> Scenario:
    if name not in scenario.settable:
        return scenario
    # A parameter without a value yet, such as a window, is a number.
    value = _parse(name, text, scenario.parameters.get(name, 1.0))
    return scenario.with_parameters({name: value})


def _parse(name: str, text: str, default: Value) -> Value:
    try:
        value: Value = convert(text, type(default), strict=False)
    except ValidationError as error:
        raise UsageError(f"--set {name}={text}: a value is such as {default!r}.") from error
    if not isinstance(value, (bool, str)) and not 0 < value < 1e9:
        raise UsageError(f"--set {name}={text}: must be above zero and below 10⁹.")
    return value
