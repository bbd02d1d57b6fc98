"""The gate of a comparison, and the parsers of its criteria, limits and acceptances."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from waitbench.analysis import gate
from waitbench.analysis.criteria import (
    ALLOWANCE_UNITS,
    DEFAULTS,
    Acceptance,
    Criterion,
    Limit,
    Scope,
)
from waitbench.analysis.rounds import is_confirmed
from waitbench.analysis.rule import RULE, Rule
from waitbench.engines.worker.metrics import metrics_of
from waitbench.model.errors import UsageError, hint
from waitbench.model.metrics import BY_NAME, BY_SECOND, SYSTEM_CALLS, Instruments, Metric
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.scenario import Scenario
from waitbench.model.worker import WorkerFile
from waitbench.system import files
from waitbench.system.installation import called

_CRITERION = re.compile(
    r"(?P<metric>[a-z0-9-]+):(?P<percent>\d{1,4}(\.\d{1,9})?)%"
    r"(,(?P<allowance>\d{1,9}(\.\d{1,6})?)(?P<unit>[A-Za-z]*))?(?P<alone>,alone)?(?P<each>,each)?",
    re.ASCII,
)

_LIMIT = re.compile(r"([a-z0-9-]+):(\d{1,12}(?:\.\d{1,12})?) ?(.{0,20})", re.ASCII)
_SIZES: Mapping[str, Mapping[str, float]] = {
    "second": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "byte": {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
    "core": {"%": 0.01},
    "count": {"": 1.0},
}  # fmt: skip
"""The units of limits, with their sizes, by the unit of the metric."""


def parse_rise(text: str, metrics: Sequence[Metric]) -> Criterion:
    """Reads a value of ``--fail-on``. Raises ``UsageError``."""
    text = text.strip()
    match = _CRITERION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r} is not METRIC:PERCENT%[,ALLOWANCE][,alone][,each], such as "
            "idle:10%, or system:10%,20ms, or wakeups:5%,alone, or cpu:25%,each."
        )
    metric = metric_named(match["metric"], metrics, f"--fail-on {text!r}")
    unit, size = ALLOWANCE_UNITS.get(metric.unit, ("", Decimal(1)))
    if match["allowance"] and match["unit"] != unit:
        raise UsageError(
            f"--fail-on {text!r}: an allowance for {metric.name} is written as 20{unit}."
        )
    if match["alone"] and metric.explains is None:
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for components of a cost, such as wakeups, and "
            f"{metric.name} is not one."
        )
    return Criterion(
        metric=metric,
        margin=float(Decimal(match["percent"]) / 100),
        allowance=float(Decimal(match["allowance"] or 0) * size),
        alone=match["alone"] is not None,
        each=match["each"] is not None,
    )


def parse_limit(text: str, metrics: Sequence[Metric]) -> Criterion:
    """Reads a value of ``--limit``. Raises ``UsageError``."""
    text = text.strip()
    option = f"--limit {text!r}"
    match = _LIMIT.fullmatch(text)
    if match is None or float(match[2]) == 0:
        raise UsageError(
            f"{option} is not METRIC:VALUE with a value above 0, such as idle:0.5%, wakeups:5/s or "
            "memory:80MB."
        )
    name, number, unit = match.groups()
    if unit == "%" and name == "idle":
        name = "share"  # the metric of idle CPU as a share of a core
    metric = metric_named(name, metrics, option)
    by_second, sizes = name in BY_SECOND, _SIZES.get(metric.unit, {metric.unit: 1.0})
    if by_second:
        is_cpu = metric.unit == "second"
        sizes = _SIZES["core"] if is_cpu else {f"{unit}/s": size for unit, size in sizes.items()}
    if unit not in sizes:
        units = (*sizes, *(["%"] if name == "idle" else []))
        texts = " or ".join(f"{name}:{number}{right}" for right in units)
        raise UsageError(f"{option}: a limit of {metric.title} is written as {texts}.")
    return Criterion(
        metric=metric,
        margin=0.0,
        each=True,
        alone=True,
        limit=Limit(
            text=text,
            most=float(number) * sizes[unit],
            unit=unit,
            size=sizes[unit],
            by_second=by_second,
        ),
    )


def metric_named(name: str, metrics: Iterable[Metric], option: str) -> Metric:
    """Finds a metric by name. Raises ``UsageError``, whose message begins with ``option``."""
    by_name = {metric.name: metric for metric in metrics}
    if name not in by_name:
        raise UsageError(f"{option}: there is no metric {name!r}{hint(name, by_name)}.")
    return by_name[name]


class Gate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The criteria of the gate and its options, as stored in the settings of a comparison."""

    criteria: tuple[Criterion, ...] = ()
    """Empty if there is no gate."""
    rule: Rule = msgspec.field(default_factory=Rule)
    """Stored even if it is the default rule, as another version may have another default."""
    most_rounds: int = RULE.analyses[0]
    """The number of rounds at the last interim analysis: see ``last_analysis``."""
    budget_s: float = math.inf
    inconclusive_passes: bool = False
    """Whether an inconclusive comparison has the exit code of a pass."""
    left_out: tuple[str, ...] = ()
    """Sentences about default criteria that cannot be measured here."""
    acceptances: tuple[Acceptance, ...] = ()

    @property
    def is_on(self) -> bool:
        return bool(self.criteria)

    @property
    def needs(self) -> frozenset[str]:
        """The keys of the metrics of the user's criteria: runs must have them."""
        return frozenset(c.metric.key for c in self.criteria if c not in DEFAULTS)

    def require_possible(self, revisions: int) -> None:
        """Raises ``UsageError`` for rises without a candidate, or for options without criteria."""
        if revisions < 2 and any(criterion.limit is None for criterion in self.criteria):
            raise UsageError(
                "The gate (--gate, --fail-on) compares candidates with a baseline: name at least "
                "two revisions."
            )
        if not self.is_on and (self.inconclusive_passes or self.acceptances):
            raise UsageError(
                "--inconclusive and --accepted are for the gate: add --gate, or --fail-on "
                "METRIC:PERCENT%."
            )

    def supported_by(self, instruments: Instruments, scenarios: Sequence[Scenario]) -> "Gate":
        """Leaves out the default criteria that this machine or the scenarios cannot measure."""
        left_out = {}
        for criterion in (criterion for criterion in self.criteria if criterion in DEFAULTS):
            key = criterion.metric.key
            if key == SYSTEM_CALLS and key not in instruments.keys:
                left_out[criterion] = (
                    f"{criterion}: not measured here: {instruments.reason}; {called('doctor')} "
                    "says how to fix it."
                )
            remedies = [scenario.lacks.get(key) for scenario in scenarios]
            if remedies and all(remedies):
                left_out[criterion] = f"{criterion}: not measured here: {remedies[0]}."
        return structs.replace(
            self,
            criteria=tuple(criterion for criterion in self.criteria if criterion not in left_out),
            left_out=tuple(left_out.values()),
        )

    def groups(self, scenarios: Sequence[Scenario]) -> list[Sequence[Scenario]]:
        """Groups scenarios that are judged together, in the order in which they are measured.

        Scenarios that wait come first: most regressions fail there, and a candidate that has failed
        gets a single round in each later scenario.
        """
        if any(c.scope is Scope.EVERY and not c.each for c in self.criteria):
            return [scenarios]
        order = (Scope.WAITING, Scope.LARGE_CHANGES, Scope.WORKING)
        groups = ([it for it in scenarios if scope.covers(it)] for scope in order)
        return [group for group in groups if group]

    def unsettled(
        self, records: Sequence[ScenarioResults], elsewhere: Sequence[ScenarioResults]
    ) -> dict[str, int]:
        """Maps scenarios to the rounds that they need: see ``comparing.StoppingRule``.

        These suffice for the first failure that is likely, or for all questions to pass.
        """
        if gate.is_too_disturbed(records):
            return {}
        answers = gate.judge_all(records, self.criteria, elsewhere, self.acceptances, self.rule)
        failed = {answer.revision for answer in answers if answer.fails}
        soon, later = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for answer in gate.unsettled(answers):
            has_failed = answer.revision in failed
            # A candidate that has failed gets one round in the scenarios that are left.
            rounds = 1 if has_failed else answer.rounds_needed
            is_soon = has_failed or answer.awaits_turn or answer.may_soon_fail
            for record in answer.records:
                about = record, answer.revision, answer.criterion
                if not (answer.awaits_turn and is_confirmed(*about)):
                    (soon if is_soon else later)[record.scenario].append(rounds)
        needed = {scenario: max(rounds) for scenario, rounds in later.items()}
        return needed | {scenario: min(rounds) for scenario, rounds in soon.items()}

    def conclude(self, records: Iterable[ScenarioResults]) -> gate.GateVerdict:
        return gate.conclude(
            records,
            self.criteria,
            inconclusive_passes=self.inconclusive_passes,
            left_out=self.left_out,
            acceptances=self.acceptances,
            rule=self.rule,
        )


def gate_of(comparison: ComparisonHeader) -> Gate:
    """The gate of a comparison. Raises ``UsageError`` if its settings are of another version."""
    try:
        return msgspec.convert(comparison.settings.get("gate") or {}, Gate)
    except msgspec.ValidationError as error:
        raise UsageError(f"The settings of the gate cannot be read ({error}).") from error


def all_metrics(worker: WorkerFile | None) -> tuple[Metric, ...]:
    """All metrics that criteria may name, including those of a worker file."""
    return tuple(dict.fromkeys((*BY_NAME.values(), *(metrics_of(worker) if worker else ()))))


def read_criteria(
    fail_on: Sequence[str],
    limits: Sequence[str] = (),
    worker: WorkerFile | None = None,
    *,
    with_defaults: bool = False,
    with_limits_of_file: bool = False,
) -> tuple[Criterion, ...]:
    """Reads the values of ``--fail-on`` and ``--limit``, and the limits of a worker file.

    Default criteria come first. A limit on the command line replaces the file's limit of the same
    metric. Raises ``UsageError``, also for limits of the file that do not apply.
    """
    metrics = all_metrics(worker)
    criteria = [*DEFAULTS] if with_defaults else []
    criteria += [parse_rise(text, metrics) for text in fail_on]
    criteria += [parse_limit(text, metrics) for text in limits]
    in_file = _limits_of(worker, metrics) if worker else {}
    if with_limits_of_file:
        typed = {text.partition(":")[0].strip() for text in limits}
        measured = {criterion.metric for criterion in criteria if criterion.limit}
        criteria += [
            criterion
            for name, criterion in in_file.items()
            if name not in typed and criterion.metric not in measured
        ]
    return tuple(dict.fromkeys(criteria))


def _limits_of(worker: WorkerFile, metrics: Sequence[Metric]) -> dict[str, Criterion]:
    try:
        return {
            name: parse_limit(f"{name}:{value}", metrics) for name, value in worker.limits.items()
        }
    except UsageError as error:
        raise UsageError(f"--worker {str(worker.path)!r}, [limits]: {error}") from error


def last_analysis(most_rounds: int) -> int:
    """The number of rounds at the last analysis within ``most_rounds``. Raises ``UsageError``."""
    fewest = RULE.analyses[1]
    if most_rounds < fewest:
        raise UsageError(
            f"--rounds {most_rounds}: must be at least {fewest}: with fewer no single scenario can "
            "fail."
        )
    return RULE.latest_analysis(most_rounds)


class _AcceptedFile(Struct, forbid_unknown_fields=True):
    accepted: list[Acceptance] = []


def read_accepted(
    path: Path, worker: WorkerFile | None = None, today: date | None = None
) -> tuple[Acceptance, ...]:
    """Reads the acceptances of a file, without those that have expired.

    Raises ``UsageError``, whose message names the wrong entry and key.
    """
    metrics, option = all_metrics(worker), f"--accepted {str(path)!r}"
    names = {metric.name for metric in metrics}
    try:
        entries = files.parse_toml(files.read(path, named=True), _AcceptedFile).accepted
        return tuple(
            structs.replace(
                entry,
                criterion=entry.criterion
                if entry.criterion in names
                else str(parse_rise(entry.criterion, metrics)),
                reason=" ".join(entry.reason.split()),
            )
            for entry in entries
            if entry.until >= (today or date.today())
        )
    except OSError as error:
        raise UsageError(f"{option} cannot be read: {error.strerror}.") from error
    except (UsageError, ValueError) as error:
        raise UsageError(f"{option}: {str(error).removeprefix('--fail-on ')}") from error
