"""What a candidate must not do, and the questions that this makes of a comparison.

A criterion is one of the gate's defaults, or what users write, as ``system:10%``; a question asks
it of one candidate. One about several scenarios together is answered by the mean of the logarithms
of their ratios within each round that all of them share: noise falls with the root of their number.
(A spike in one of them leaves the round to the others: outliers.py.)
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from waitbench.analysis.rounds import Round, paced_by_round, paired_by_round
from waitbench.analysis.scan import slopes_by_round
from waitbench.analysis.sequential import FEWEST_ROUNDS
from waitbench.analysis.statistics import log_ratios
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME, INSTRUMENTED, MEMORY, Instruments, Metric
from waitbench.model.record import Record
from waitbench.model.run import NOT_SUPPORTED

_EXAMPLE = "such as steady:10%, or system:10%,20ms, or wakeups:5%,alone, or cpu:10%,together"
_CRITERION = re.compile(r"(?P<metric>[a-z0-9-]+):(?P<percent>[^%,]*)%(?P<rest>(,[^,]*)*)")
_FLOOR = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)")
_UNITS: dict[str, dict[str, float]] = {
    "second": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "byte": {"MiB": 2.0**20, "KiB": 2.0**10, "B": 1.0},
}
"""How a floor may be written for a metric of this unit, besides as a bare number; large first."""
_FLAGS = ("alone", "together", "tail", "slope")
_DIGITS = ".12g"
"""Enough to read back what was written."""


class Scope(str, Enum):
    """The scenarios that a criterion is about."""

    EVERY = "every"
    WAITING = "waiting"
    """Those whose workers mostly wait."""
    WORKING = "working"
    """The others, but for the coarse ones."""
    COARSE = "coarse"
    """Those measured in few rounds, for what breaks by a factor: see ``Scenario.coarse``."""

    def holds(self, record: Record) -> bool:
        if self is Scope.EVERY:
            return True
        if record.coarse:
            return self is Scope.COARSE
        return self is (Scope.WAITING if record.mostly_waits else Scope.WORKING)


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """What a candidate must not do."""

    metric: Metric
    margin: float
    """Allowed rise, as a share: 0.1 for 10 %."""
    floor: float = 0.0
    """A rise that is not certainly above this, in the metric's unit, never fails."""
    alone: bool = False
    """Judge what explains a cost without regard to that cost."""
    together: bool = False
    """Judge all scenarios by their mean within each round, rather than each by itself."""
    tail: bool = False
    """Judge whether there are rare bad runs, over all scenarios, rather than the usual run."""
    slope: bool = False
    """Judge what each further input costs in a scan, rather than the cost at each value."""
    scope: Scope = Scope.EVERY

    @property
    def is_pooled(self) -> bool:
        """Whether one question is about all scenarios at once."""
        return self.together or self.tail or self.slope

    @property
    def cost(self) -> str | None:
        """The name of the metric whose certain fall excuses a rise; ``None`` if nothing does."""
        return None if self.alone else self.metric.explains

    def __str__(self) -> str:
        """The text that ``parse`` makes this of; the scope is not in it."""
        floor = f",{_floor_text(self.floor, self.metric)}" if self.floor else ""
        flags = "".join(f",{flag}" for flag in _FLAGS if getattr(self, flag))
        return f"{self.metric.name}:{self.margin * 100:{_DIGITS}}%{floor}{flags}"


DEFAULTS = (
    Criterion(metric=BY_NAME["steady"], margin=0.10, together=True, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["steady"], margin=0.25, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["steady"], margin=0.25, tail=True, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["cpu-running"], margin=0.10, together=True, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["cpu"], margin=0.10, together=True, scope=Scope.WAITING),
    Criterion(
        metric=BY_NAME["startup"], margin=0.25, floor=0.1, together=True, scope=Scope.WAITING
    ),
    Criterion(
        metric=BY_NAME["shutdown"], margin=0.25, floor=0.1, together=True, scope=Scope.WAITING
    ),
    Criterion(
        metric=BY_NAME["latency-p50"], margin=0.25, floor=0.005, together=True, scope=Scope.WAITING
    ),
    Criterion(
        metric=BY_NAME["latency"], margin=0.25, floor=0.05, together=True, scope=Scope.WAITING
    ),
    Criterion(
        metric=BY_NAME["rss"], margin=0.10, floor=8 * 2.0**20, together=True, scope=Scope.WAITING
    ),
    Criterion(metric=MEMORY, margin=0.10, floor=8 * 2.0**20, together=True, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["wakeups"], margin=0.05, scope=Scope.WAITING),
    Criterion(metric=BY_NAME["syscalls"], margin=0.05, scope=Scope.WAITING),
    # By ticks of 4 ms, that of half a second of waiting is known to some 20 ms.
    Criterion(
        metric=BY_NAME["steady-system"],
        margin=0.25,
        floor=0.025,
        together=True,
        scope=Scope.WAITING,
    ),
    Criterion(metric=BY_NAME["steady"], margin=1.0, scope=Scope.COARSE),
    Criterion(metric=BY_NAME["cpu"], margin=1.0, scope=Scope.COARSE),
    Criterion(metric=BY_NAME["cpu"], margin=0.10, together=True, scope=Scope.WORKING),
    Criterion(metric=BY_NAME["cpu"], margin=0.25, scope=Scope.WORKING),
)
"""What the gate asks unless told otherwise.

What waiting costs is asked first, in the steady phase and in all; then what it consists of, and
what a change may trade for CPU: lateness, memory, start-up, shutdown. Rises of these below a floor
are nobody's concern. Of one scenario, 10 % of CPU time cannot be settled in minutes, but of all of
a group together they can; where a group is a single scenario, as that of a worker file, it is asked
for ``_OF_ONE``. Counts vary less, so that their margin is narrower: a rise of 10 % is to be found.
"""
_OF_ONE = 0.15


def is_measured(criterion: Criterion, instruments: Instruments) -> bool:
    """Whether a machine with these instruments gives what a default criterion is about."""
    return criterion.metric.key not in INSTRUMENTED - instruments.keys


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Reads ``METRIC:PERCENT%[,FLOOR][,FLAG]…``; see ``_FLAGS``. The metrics are those given.

    Raises ``UsageError`` that says what would be right.
    """
    return tuple(_criterion(text, metrics) for text in texts)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One criterion, asked of one candidate in one scenario, or in several together."""

    criterion: Criterion
    label: str
    records: tuple[Record, ...]
    """Those of the scenarios."""
    is_partial: bool = False
    """Whether it is about more scenarios, which are measured elsewhere: see ``within``."""

    @property
    def place(self) -> str:
        """Where it is asked, for people."""
        first = self.records[0]
        if self.criterion.slope and first.scan is not None:
            return f"{first.scan.scenario} by {first.scan.parameter}"
        if not self.criterion.is_pooled or len(self.records) == 1:
            return first.scenario
        scope = self.criterion.scope
        group = "" if scope is Scope.EVERY else f"{scope.value} "
        return f"{len(self.records)} {group}scenarios together"

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The scenarios that this candidate, or the baseline, cannot run."""
        return tuple(r.scenario for r in self.records if _has(r, self.label, NOT_SUPPORTED))

    @property
    def cost(self) -> Metric | None:
        """What the criterion's metric explains, if a fall of that excuses its rise."""
        metrics = self.records[0].metrics
        return next((metric for metric in metrics if metric.name == self.criterion.cost), None)

    @property
    def why_given_up(self) -> str | None:
        """Why there will be no more rounds; ``None`` while there may be."""
        for record in self.records:
            for label in (record.context.labels[0], self.label):
                why = record.why_given_up(label)
                if why is not None:
                    return why
        return None

    def within(self, scenarios: Collection[str]) -> "Question | None":
        """The same question of those of its scenarios; ``None`` without any.

        Of only some of them it is no question of the comparison, but tells how many rounds that
        one will take. The mean of ``n`` scenarios out of ``N`` scatters by the root of ``N / n``
        more than that of all does, so its margin is as much wider, on the scale of logarithms: it
        is settled after about as many rounds as that of all.
        """
        here = tuple(record for record in self.records if record.scenario in scenarios)
        if len(here) == len(self.records):
            return self
        if not here:
            return None
        wider = math.log1p(self.criterion.margin) * math.sqrt(len(self.records) / len(here))
        criterion = replace(self.criterion, margin=math.expm1(wider))
        return replace(self, criterion=criterion, records=here, is_partial=True)

    def narrowed(self) -> "Question | None":
        """The same question of the scenarios that answer it, or may yet; ``None`` without any."""
        answering = tuple(r for r in self.records if _may_answer(r, self.label, self.criterion))
        return replace(self, records=answering) if answering else None

    def pairs(self, metric: Metric) -> list[list[tuple[float, float]]]:
        """What baseline and candidate cost in each round of each scenario that both have."""
        if self.criterion.slope:
            return [[*self._slopes(metric).values()]]
        return [[*paired_by_round(record, self.label, metric).values()] for record in self.records]

    def rounds(self, metric: Metric) -> list[Round]:
        """The rounds in which both revisions have a metric in all scenarios, in their order."""
        noted = [number for record in self.records for number in record.disturbed_rounds]
        if self.criterion.slope:
            # Of so many values, one that was disturbed is no news.
            most = len(self.records) / 2
            return [
                Round((math.log(ours / theirs),), (ours - theirs,), noted.count(number) > most)
                for number, (theirs, ours) in self._slopes(metric).items()
            ]
        by_scenario = [paired_by_round(record, self.label, metric) for record in self.records]
        shared = set(by_scenario[0]).intersection(*by_scenario[1:])
        pairs = {number: [of[number] for of in by_scenario] for number in sorted(shared)}
        paces = paced_by_round(self.records, self.label, metric)
        return [
            Round(
                logs=tuple(log_ratios(of_all, metric)),
                rises=tuple(ours - theirs for theirs, ours in of_all),
                disturbed=number in noted,
                pairs=tuple(of_all),
                paces=tuple(of[number] for of in paces if number in of),
            )
            for number, of_all in pairs.items()
        ]

    def _slopes(self, metric: Metric) -> dict[int, tuple[float, float]]:
        """R of baseline and candidate in each round that both have at all values."""
        both = (self.records[0].context.labels[0], self.label)
        found = slopes_by_round(self.records, both, metric)
        return {number: (theirs, ours) for number, (theirs, ours) in found.items()}


def ask(records: Iterable[Record], criteria: Sequence[Criterion]) -> tuple[Question, ...]:
    """Every question of a comparison: first those about several scenarios together.

    Nothing is asked of a scenario whose runs cannot have the metric, or where it does not compare.
    """
    known = tuple(records)
    candidates = tuple(dict.fromkeys(label for r in known for label in r.context.labels[1:]))
    pooled = [
        Question(
            criterion=criterion if len(group) > 1 else _of_one(criterion),
            label=label,
            records=group,
        )
        for label in candidates
        for criterion in criteria
        if criterion.is_pooled
        for group in _groups(criterion, known)
    ]
    single = [
        Question(criterion=criterion, label=label, records=(record,))
        for record in known
        for label in record.context.labels[1:]
        for criterion in criteria
        if not criterion.is_pooled and _is_about(criterion, record)
    ]
    return (*pooled, *single)


def _criterion(text: str, metrics: Sequence[Metric]) -> Criterion:
    match = _CRITERION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--fail-on {text!r} is not METRIC:PERCENT%, {_EXAMPLE}.")
    metric = _metric(match["metric"], text, metrics)
    parts = [part.strip() for part in match["rest"].split(",") if part.strip()]
    sizes = [part for part in parts if part not in _FLAGS]
    floors = [_floor(part, text, metric) for part in sizes]
    if len(sizes) > 1:
        raise UsageError(
            f"--fail-on {text!r} has two floors, {sizes[0]!r} and {sizes[1]!r}: name one."
        )
    twice = next((part for part in parts if parts.count(part) > 1), None)
    if twice is not None:
        raise UsageError(f"--fail-on {text!r} has {twice!r} twice: name one.")
    together = [part for part in parts if part in ("together", "tail", "slope")]
    if "slope" in together and len(together) > 1:
        raise UsageError(f"--fail-on {text!r}: name either {together[0]!r} or {together[1]!r}.")
    if "alone" in parts and metric.explains is None:
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for what explains a cost, and is otherwise judged "
            f"with it: {_explanations(metrics)}. {metric.name} explains none."
        )
    return Criterion(
        metric=metric,
        margin=_margin(match["percent"], text),
        floor=floors[-1] if floors else 0.0,
        alone="alone" in parts,
        together="together" in parts,
        tail="tail" in parts,
        slope="slope" in parts,
    )


def _metric(name: str, text: str, metrics: Sequence[Metric]) -> Metric:
    found = next((metric for metric in metrics if metric.name == name), None)
    if found is None:
        names = ", ".join(metric.name for metric in metrics)
        raise UsageError(f"--fail-on {text!r}: there is no metric {name!r}. There are: {names}.")
    return found


def _explanations(metrics: Sequence[Metric]) -> str:
    return ", ".join(f"{m.name} ({m.explains})" for m in metrics if m.explains is not None)


def _margin(percent: str, text: str) -> float:
    try:
        margin = float(percent) / 100
    except ValueError as error:
        raise UsageError(
            f"--fail-on {text!r}: {percent!r} is not a number of per cent, {_EXAMPLE}."
        ) from error
    if not 0 <= margin < 100:
        raise UsageError(f"--fail-on {text!r}: the margin must be 0 % or more, and below 10,000 %.")
    return margin


def _floor(part: str, text: str, metric: Metric) -> float:
    units = {name.lower(): size for name, size in _UNITS.get(metric.unit, {}).items()} | {"": 1.0}
    match = _FLOOR.fullmatch(part.lower().replace("µ", "u"))
    if match is None or match["unit"] not in units:
        raise UsageError(
            f"--fail-on {text!r}: {part!r} is neither a floor for {metric.name}, such as "
            f"{_floor_text(0.02 if metric.unit == 'second' else 20, metric)}, nor 'alone', "
            "'together', 'tail' or 'slope'."
        )
    return float(match["number"]) * units[match["unit"]]


def _floor_text(floor: float, metric: Metric) -> str:
    """A floor in the largest unit that it can be read back from."""
    units = _UNITS.get(metric.unit, {"": 1.0})
    numbers = {name: f"{floor / size:{_DIGITS}}" for name, size in units.items()}
    exact = [
        name
        for name, size in units.items()
        if floor >= size and float(numbers[name]) * size == floor
    ]
    name = exact[0] if exact else list(units)[-1]
    return f"{numbers[name]}{name}"


def _groups(criterion: Criterion, known: Sequence[Record]) -> list[tuple[Record, ...]]:
    """The scenarios that one question is about: all that it can be, or those of one scan."""
    about = [record for record in known if _is_about(criterion, record)]
    if not criterion.slope:
        return [tuple(about)] if about else []
    curves = dict.fromkeys(record.scan.curve for record in about if record.scan)
    return [
        tuple(record for record in about if record.scan and record.scan.curve == curve)
        for curve in curves
    ]


def _of_one(criterion: Criterion) -> Criterion:
    """What is asked of a single scenario where a default is about a group of them together."""
    is_cost = criterion.together and criterion.scope is not Scope.EVERY and not criterion.floor
    return replace(criterion, margin=max(criterion.margin, _OF_ONE)) if is_cost else criterion


def _is_about(criterion: Criterion, record: Record) -> bool:
    keys = {metric.key for metric in record.metrics}
    return criterion.scope.holds(record) and criterion.metric.key in keys


def _may_answer(record: Record, label: str, criterion: Criterion) -> bool:
    """Whether what the first look would see has the metric, or has not been measured yet."""
    if _has(record, label, NOT_SUPPORTED):
        return False
    baseline, candidate = record.of(record.context.labels[0]), record.of(label)
    measured = {run.round for run in baseline} & {run.round for run in candidate}
    return len(measured) < FEWEST_ROUNDS or bool(paired_by_round(record, label, criterion.metric))


def _has(record: Record, label: str, reason: str) -> bool:
    """Whether this candidate or the baseline has such an outcome."""
    both = (record.context.labels[0], label)
    return any(one.label in both and one.reason == reason for one in record.outcomes)
