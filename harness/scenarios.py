"""Names -> Scenarios: a dataflow with fixed parameters, and what to expect of a run of it."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from harness.errors import UsageError
from harness.places import DATAFLOWS

Value = int | float | bool | str

TOPOLOGY_KINDS = ("single", "cluster", "launcher")


@dataclass(frozen=True)
class Topology:
    """How the processes of a run are started."""

    kind: str
    """``single`` (one ``bytewax.run``), ``cluster`` (N of them, as in production) or ``launcher`` (bytewax's own ``-p N``)."""
    processes: int = 1
    workers: int = 1
    """Worker threads of each process."""

    @property
    def worker_count(self) -> int:
        return self.processes * self.workers

    def __str__(self) -> str:
        processes = "" if self.kind == "single" else f", {self.processes} process{'es' * (self.processes != 1)}"
        return self.kind + processes + (f" × {self.workers} workers" if self.workers > 1 else "")


@dataclass(frozen=True)
class Scenario:
    """One dataflow with fixed parameters."""

    name: str
    purpose: str
    module: Path
    call: str = "get_flow"
    """The function in the module; or, for a user's dataflow, all of what follows its ``:``."""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    by_default: bool = True
    """Whether it runs when no ``--scenario`` is given."""
    needs_next_awake: bool = False
    """Whether it needs a bytewax whose sources may say when to be asked next (0.17 and later)."""
    is_own: bool = True
    """Whether it is one of this project's, which report what they do; a user's dataflow need not."""

    @property
    def import_string(self) -> str:
        """What bytewax is given to run, such as ``…/partitioned.py:get_flow(long_input=True)``."""
        if not self.is_own:
            return f"{self.module}:{self.call}"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.module}:{self.call}({arguments})"

    def expected_items(self, topology: Topology) -> int | None:
        """How many items must come out of a run; ``None`` where nobody knows."""
        if not self.is_own:
            return None
        sources = self.parameters.get("partitions", min(topology.worker_count, 16))
        return int(sources) * self._per_source

    @property
    def expected_s(self) -> float:
        """Roughly how long a run takes, for the time left and the time limit; never a measurement."""
        if not self.is_own:
            return 60.0
        number = {name: float(value) for name, value in self.parameters.items()}
        waiting = number["idle"] + (self._per_source / number["burst"] * number["interval"] if number["long_input"] else 0)
        working = number.get("partitions", 1) * self._per_source * number["heaviness"] * 4e-7 * number["heavy_map"]
        return 0.5 + max(waiting, working)

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        return 30 + 5 * self.expected_s

    @property
    def _per_source(self) -> int:
        return int(self.parameters.get("items_per_partition", self.parameters.get("items_per_worker", 0)))


_ITEMS_OF: dict[str, tuple[str, str, dict[str, Value]]] = {
    "partitioned": ("items_per_partition", "16 partitions", {"partitions": 16}),
    "dynamic": ("items_per_worker", "a source on each of the first 16 workers", {}),
}
_COMMON: dict[str, Value] = {
    "long_input": False, "heavy_map": False, "scheduled": False, "interval": 0.25, "burst": 1, "idle": 0.0,
    "heaviness": 40_000, "seed": 1,
}  # fmt: skip
_LONG: dict[str, Value] = {"long_input": True}
_KINDS: tuple[tuple[str, int, dict[str, Value], str], ...] = (
    ("", 20, {}, "20 items each, all at once: start-up, polling without waiting, shutdown"),
    ("-long-input", 20, _LONG, "20 items each, one due per 0.25 s: what a worker spends while it waits"),
    ("-heavy-map", 20, {"heavy_map": True}, "20 items each, heavy work on every one: all CPU should be used"),
    (
        "-long-input-heavy-map",
        20,
        {**_LONG, "heavy_map": True},
        "one item due per 0.25 s and heavy work: waiting and working",
    ),
    (
        "-scheduled",
        20,
        {**_LONG, "scheduled": True},
        "as long-input, but the source says when to be asked next (from 0.17)",
    ),
    ("-idle", 0, {"idle": 5.0}, "no item at all for 5 s: the cost of an idle second"),
    (
        "-burst",
        40,
        {**_LONG, "interval": 1.25, "burst": 10},
        "10 items at once after 1.25 s of silence: latency after parking",
    ),
)
_DEFAULT_KINDS = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")

ALL = tuple(
    Scenario(
        name=family + suffix,
        purpose=f"{who}; {purpose}",
        module=DATAFLOWS / f"{family}.py",
        parameters={**_COMMON, **own, items_name: count, **parameters},
        by_default=suffix in _DEFAULT_KINDS,
        needs_next_awake=bool(parameters.get("scheduled")),
    )
    for family, (items_name, who, own) in _ITEMS_OF.items()
    for suffix, count, parameters, purpose in _KINDS
)


QUICK_SETTINGS = {
    "items_per_partition": "8",
    "items_per_worker": "8",
    "interval": "0.125",
    "heaviness": "20000",
    "idle": "1",
}
"""What the check for continuous integration shortens scenarios to, unless told not to: about 1 s of waiting a run."""


def select(
    patterns: Sequence[str], settings: Sequence[str], defaults: Mapping[str, str] = MappingProxyType({})
) -> tuple[Scenario, ...]:
    """The scenarios that any of the globs match (the default ones without a glob), with ``NAME=VALUE`` settings applied.

    ``defaults`` are settings that apply where a scenario uses the parameter at all, before those of the user.

    Raises ``UsageError`` for a glob that matches none, and for a setting that no selected scenario has.
    """
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in ALL):
            names = ", ".join(scenario.name for scenario in ALL)
            raise UsageError(f"--scenario {pattern!r} matches none of: {names}.")
    chosen = [s for s in ALL if any(fnmatchcase(s.name, p) for p in patterns) or (s.by_default and not patterns)]
    for name, text in defaults.items():
        for position, scenario in enumerate(chosen):
            if scenario.parameters.get(name):  # not where it is absent, or 0 for "none"
                value = _parse(name, text, scenario.parameters[name])
                chosen[position] = replace(scenario, parameters={**scenario.parameters, name: value})
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
    return Scenario(path.stem, f"your dataflow {text}", path.resolve(), call, is_own=False)


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
