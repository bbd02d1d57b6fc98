"""One step of a search for what changed a cost: points measured in the same rounds -> an answer.

A step measures the good end, the bad end and mostly a point between them, once each per round, so
that drift is the same for all. It asks of each half whether its change is within the margin, for
certain: only then is that half left. All that is certain rests on bounds that hold over all steps
and all looks together, as sequential.py has them, with an error for each step that is fixed
beforehand. Nothing is certain before ``sequential.FIRST_ALARM`` rounds, in either direction: to
leave a half that changed is as wrong as to go on with one that did not. docs/statistics.md says
what can go wrong, and how often.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from waitbench.analysis import sequential
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.sequential import Bounds, Errors, ratio

_EVENLY = 0.8
"""Part of the error that as many steps as one culprit takes share evenly.

As many again share as much of what is left, and so on."""


class Question(str, Enum):
    """What a step asks."""

    ENDPOINTS = "endpoints"
    """Two points: whether anything changed at all."""
    SPLIT = "split"
    """Three points: in which half the change is."""
    PROOF = "proof"
    """Two points with nothing measurable between them: whether this is a change."""


class StepVerdict(str, Enum):
    """What a step says."""

    CHANGED = "changed"
    """Of two points: beyond the margin, for certain."""
    WITHIN = "within"
    """For certain not beyond the margin: between two points, or in each half."""
    LIKE_GOOD = "like good"
    """The change is in the second half; the first is within the margin, for certain."""
    LIKE_BAD = "like bad"
    """The change is in the first half; the second is within the margin, for certain."""
    BETWEEN = "between"
    """Both halves have changes: both go on."""
    INCONCLUSIVE = "inconclusive"
    """More rounds are needed. Where there are none, it stays so."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Points to be measured in the same rounds, and the part of the error that is for them."""

    number: int
    """From 0, the endpoints."""
    question: Question
    points: tuple[int, ...]
    """The good end, the middle unless there is none, and the bad end."""
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool
    """Whether the change that is looked for is a fall."""
    share: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """From one point to a later one: a ratio, and bounds that hold over all looks."""

    good: int
    bad: int
    ratio: float
    low: float
    high: float
    beyond: bool
    """For certain more than the margin, in the direction that is looked for."""
    within: bool
    """For certain not more than the margin in that direction."""
    would_have_found: float
    """The smallest change, as a share, that so many rounds prove with a chance of 95 %.

    Of the larger to the smaller: 0.25 is a rise to 1.25 as well as a fall to 1/1.25.
    """


@dataclass(frozen=True, kw_only=True)
class StepAnswer:
    """What the rounds of a step say so far."""

    says: StepVerdict
    rounds: int
    """Those that the answer rests on."""
    changes: tuple[Change, ...] = ()
    """From good to bad; with a middle then those of both halves. Empty with too few rounds."""
    is_disturbed: bool = False
    """Whether it is inconclusive because others used the machine in most of its rounds."""


def share(number: int, points: int) -> float:
    """The part of the error that is spent at a step of a search over so many points.

    Those of all steps add up to less than 1, however many there are.
    """
    for_one_culprit = math.ceil(math.log2(points)) + 2
    left = (1 - _EVENLY) ** (number // for_one_culprit)
    return _EVENLY * left / for_one_culprit


def answer(
    step: Step, rounds: Sequence[Sequence[float]], disturbed: Sequence[bool] = ()
) -> StepAnswer:
    """Answers a step from the logarithms of what each of its points cost, by round.

    ``disturbed`` says of each round whether it was, unless none was.

    It is that of the first look that says something for certain: it does not matter how many rounds
    came after it, nor how often one asks.
    """
    stretches = _stretches(len(step.points))
    logs = [_logs(rounds, stretch, step.faster) for stretch in stretches]
    spans = [_Span(low=-math.inf, high=math.inf, margin=math.log1p(step.margin)) for _ in logs]
    says, seen, is_disturbed = StepVerdict.INCONCLUSIVE, 0, False
    looks = sequential.looks_until(len(rounds))
    for seen in (look for look in looks if look >= sequential.FIRST_ALARM):
        error = _error(step, seen)
        found = [sequential.bounds(of_one[:seen], error) for of_one in logs]
        spans = [span.narrowed(to) for span, to in zip(spans, found, strict=True)]
        is_disturbed = mostly_disturbed(sum(disturbed[:seen]), seen)
        if not is_disturbed:
            says = _says(spans)
        if says is not StepVerdict.INCONCLUSIVE:
            break
    if not seen:
        return StepAnswer(says=says, rounds=0)
    changes = tuple(
        _change(step, *of_stretch) for of_stretch in zip(stretches, spans, found, strict=True)
    )
    return StepAnswer(says=says, rounds=seen, changes=changes, is_disturbed=is_disturbed)


@dataclass(frozen=True, kw_only=True)
class _Span:
    """Where the logarithm of a change lies, mirrored if it is a fall."""

    low: float
    high: float
    margin: float

    @property
    def beyond(self) -> bool:
        return self.low > self.margin

    @property
    def within(self) -> bool:
        return self.high <= self.margin

    @property
    def some(self) -> bool:
        return self.low > 0

    def narrowed(self, found: Bounds) -> "_Span":
        """All looks hold at once, so the closest bound of any of them does."""
        return replace(self, low=max(self.low, found.low), high=min(self.high, found.high))


def _stretches(points: int) -> tuple[tuple[int, int], ...]:
    """From which to which of a step's points: the whole, then both halves if it has a middle."""
    return ((0, 1),) if points == 2 else ((0, 2), (0, 1), (1, 2))


def _logs(rounds: Sequence[Sequence[float]], stretch: tuple[int, int], faster: bool) -> list[float]:
    """Logarithms of the paired ratios; of a fall mirrored, so that it is a rise."""
    good, bad = stretch
    first, last = (bad, good) if faster else (good, bad)
    return [one[last] - one[first] for one in rounds]


def _error(step: Step, look: int) -> Errors:
    """The errors of each stretch's bounds.

    Of two points only one bound can mislead, by what is true: the lower one if the change is within
    the margin, the upper one if it is beyond. With a middle, each half may have a culprit to miss.
    """
    whole = sequential.ALPHA * step.share * sequential.share(look, sequential.FIRST_ALARM)
    each = whole if len(step.points) == 2 else whole / 2
    return Errors(alarm=each, clear=each)


def _says(spans: Sequence[_Span]) -> StepVerdict:
    if len(spans) == 1:
        (only,) = spans
        if only.beyond:
            return StepVerdict.CHANGED
        return StepVerdict.WITHIN if only.within else StepVerdict.INCONCLUSIVE
    _, first, second = spans
    if first.within and second.within:
        return StepVerdict.WITHIN
    if first.within and second.some:
        return StepVerdict.LIKE_GOOD
    if first.some and second.within:
        return StepVerdict.LIKE_BAD
    # Little is enough: that both are searched costs rounds, and proves nothing yet.
    return StepVerdict.BETWEEN if first.some and second.some else StepVerdict.INCONCLUSIVE


def _change(step: Step, stretch: tuple[int, int], span: _Span, found: Bounds) -> Change:
    sign = -1 if step.faster else 1
    low, high = sorted((sign * span.low, sign * span.high))
    return Change(
        good=step.points[stretch[0]],
        bad=step.points[stretch[1]],
        ratio=ratio(sign * found.centre),
        low=ratio(low),
        high=ratio(high),
        beyond=span.beyond,
        within=span.within,
        would_have_found=found.findable(step.margin) - 1,
    )
