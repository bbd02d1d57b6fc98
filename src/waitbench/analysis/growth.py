"""How a cost grows with a number: the line C + N·R that fits, or why none does. Pure.

Costs span orders of magnitude and vary by a share of themselves, so errors are relative: weighted
least squares, with the inverse square of the fitted cost as the weight (R. Carroll and D. Ruppert,
"Transformation and Weighting in Regression", 1988, chapter 2: generalized least squares, one step
from the weights of the data). A fit is of one round; its interval is Student's t over the rounds,
so that what the machine did to a whole round is not taken for precision.

A line is refused where the mean cost at some value is off it by more than ``TOLERANCE``, and by
more than chance explains: at one value alone (Student's t, for all values together), or at all of
them together, by the test for lack of fit against pure error (N. Draper and H. Smith, "Applied
Regression Analysis", 1998, section 2.1). How often that, and the thresholds below, name each shape
rightly: docs/trials/growth-simulated.txt.

Then comes a worker that sleeps for a fixed time after each pass over its inputs: x = C + N·R is the
length of a pass in such times, and its cost x / (1 + x) of a core nears one. Where that misses,
too, what leaves the fewest squares of these explains it, if anything does: a wall, at which the
cost cannot grow on; a term in N², in the cost or in the length of a pass; a step.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from waitbench.analysis.distributions import f_quantile, t_quantile

TOLERANCE = 0.15
"""A fit may be off by such a share of the cost before anything is said of it."""
_UNTESTED_TOLERANCE = 0.30
"""The same where there is one round only, and chance is not known."""
_SURELY = {True: TOLERANCE, False: _UNTESTED_TOLERANCE}
"""By whether there are several rounds: what is off by less fits, whatever chance would explain."""
_FULL_CORES = 0.8
"""A cost below so many cores has reached no wall."""
_AT_THE_WALL = 0.85
"""A cost of such a share of the greatest one is at the wall, if there is a wall."""
_HELD_BACK = 1.25
"""There is one where the values below it predict so many times what was measured."""
_WHOLE_CORE = 0.97
"""From here on nothing tells how long the passes of a sleeping worker are."""
_MORE_THAN_ONE = 1.05
"""A cost above this is not of one worker."""
_EXPLAINED = 0.25
"""What explains a cost leaves no more than this share of the squares that a line leaves."""
_FITS_BY_CHANCE = 0.95
"""Of what does fit, so much passes the test for lack of fit."""
_SIMPLER = 2.0
"""A step is believed if it leaves so many times fewer squares than all else, and a wall that fits
if it leaves at most so many times more."""
_OF_A_LINE = 2
"""C and R."""
FEWEST = 3
"""Values that a line is fitted to."""
_SMALLEST = 1e-9
_CONFIDENCE = 0.95

Costs = Sequence[float]
"""One at each value."""
Line = tuple[float, float]
"""C and R."""
Fit = Callable[[Sequence[float], Costs], Line]


class Shape(str, Enum):
    """How a cost grows."""

    LINE = "line"
    SATURATING = "saturating"
    """As that of a worker that sleeps between passes: towards a whole core."""
    WALL = "wall"
    """A line up to where the cost cannot grow on."""
    CURVE_UP = "faster"
    """Faster than its number, as with its square."""
    CURVE_DOWN = "slower"
    """More slowly than its number."""
    STEP = "step"
    """It jumps at a value."""
    UNKNOWN = "unknown"
    """No line fits, and nothing else that is tried does."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a cost grows over some values."""

    shape: Shape
    tried: int
    """So many values, from the first on, are what it was fitted to."""
    at: int | None = None
    """The place of the value at which there is a wall or a step."""
    worst: int
    """The place of the value at which a line is off most."""
    off: float
    """By what share of the line's cost it is off there."""
    power: float | None = None
    """By which power of the number a curve grows over the last two values that it is known at."""

    @property
    def fit(self) -> Fit | None:
        """What fits C and R to a round; ``None`` where they would mean nothing."""
        if self.shape is Shape.SATURATING:
            return saturating
        has_line = self.shape in (Shape.LINE, Shape.WALL) and self.tried >= FEWEST
        return line if has_line else None


def line(values: Sequence[float], costs: Costs) -> Line:
    """C and R of the cost C + N·R of one round, by relative errors."""
    terms = [_ones(values), values]
    first = _fit(terms, costs, costs)
    # A line that misses must not weigh what it misses by next to nothing.
    weights = [
        max(fitted, cost / 2) for fitted, cost in zip(_sums(terms, first), costs, strict=True)
    ]
    constant, slope = _fit(terms, costs, weights)
    return constant, slope


def saturating(values: Sequence[float], costs: Costs) -> Line:
    """C and R of the cost x / (1 + x), x = C + N·R, of one round: what they are while it is low."""
    constant, slope = _fit([_ones(values), values], *_passes(costs))
    return constant, slope


def on_line(found: Line, value: float) -> float:
    """The cost that a line means at a value."""
    return found[0] + found[1] * value


def on_saturating(found: Line, value: float) -> float:
    """The same of a worker that sleeps between passes."""
    return _cost_of_pass(on_line(found, value))


def growth(values: Sequence[float], rounds: Sequence[Costs]) -> Growth:
    """How the cost of some rounds grows; each has one at every value, in ascending order.

    Raises ``ValueError`` for fewer than three values, or no round.
    """
    if len(values) < FEWEST or not rounds:
        raise ValueError("A curve takes three values and a round.")
    means = [max(math.fsum(each) / len(rounds), _SMALLEST) for each in zip(*rounds, strict=True)]
    error = _error(rounds, means)
    allowed = _allowed(error, rounds)
    found = line(values, means)
    straight = _Try(
        Shape.LINE, len(values), _off(means, [on_line(found, value) for value in values])
    )
    worst = max(range(len(values)), key=lambda place: abs(straight.off[place]))

    def told(best: _Try) -> Growth:
        return Growth(
            shape=best.shape,
            tried=best.tried,
            at=best.at,
            worst=worst,
            off=straight.off[worst],
            power=best.power,
        )

    by_chance = len(values) * error**2
    # What is off by no more than chance explains at any value may be so at too many of them.
    most_by_chance = error**2 * _lack_of_fit(rounds)

    def fits(one: _Try) -> bool:
        is_chance = one.is_within(allowed) and one.squares <= most_by_chance
        return one.is_within(min(allowed, _SURELY[len(rounds) > 1])) or is_chance

    if fits(straight):
        return told(straight)
    below = _below_a_core(means)
    sleeper = None
    if below >= FEWEST:
        found = saturating(values[:below], means[:below])
        off = _off(means, [on_saturating(found, value) for value in values])
        sleeper = _Try(Shape.SATURATING, below, off)
        if fits(sleeper):
            return told(sleeper)
    left = min(one.squares for one in (straight, sleeper) if one is not None)
    others = list(_others(values, means, below))
    best = min(others, key=lambda one: one.squares, default=straight)
    wall = next((one for one in others if one.shape is Shape.WALL), None)
    if wall and wall.is_within(allowed) and wall.squares <= max(best.squares, by_chance) * _SIMPLER:
        # A curve that a core cuts off looks alike; this says less.
        return told(wall)
    if best.squares <= _EXPLAINED * left:
        return told(best)
    if sleeper is not None and sleeper.squares <= _EXPLAINED * straight.squares:
        return told(sleeper)
    nothing = _Try(Shape.UNKNOWN, len(values), straight.off)
    return told(next((one for one in (straight, best) if one.is_within(allowed)), nothing))


@dataclass(frozen=True)
class _Try:
    """One way to explain a cost, and what it leaves unexplained."""

    shape: Shape
    tried: int
    off: Sequence[float]
    """By what share each mean is off what it says, at all values."""
    at: int | None = None
    power: float | None = None

    @property
    def squares(self) -> float:
        left = math.fsum(one**2 for one in self.off)
        return left * _SIMPLER if self.shape is Shape.STEP else left

    def is_within(self, allowed: float) -> bool:
        """Whether it is off nowhere by more than this."""
        return max(map(abs, self.off)) <= allowed


def _error(rounds: Sequence[Costs], means: Costs) -> float:
    """The standard error of the means, as a share of them; a guess where there is one round."""
    if len(rounds) < 2:
        return _UNTESTED_TOLERANCE / 10
    # Of each round what is off at each value, less its own level: rounds differ as wholes.
    shares = [[cost / of - 1 for cost, of in zip(one, means, strict=True)] for one in rounds]
    levels = [math.fsum(one) / len(one) for one in shares]
    squares = math.fsum(
        (share - level) ** 2 for one, level in zip(shares, levels, strict=True) for share in one
    )
    return math.sqrt(squares / _freedom(rounds) / len(rounds))


def _allowed(error: float, rounds: Sequence[Costs]) -> float:
    """By what share a mean may be off what fits, and it fits all the same."""
    if len(rounds) < 2:
        return _UNTESTED_TOLERANCE
    # One error for all values (Bonferroni).
    share = 1 - (1 - _CONFIDENCE) / 2 / len(rounds[0])
    return max(TOLERANCE, error * t_quantile(share, _freedom(rounds)))


def _lack_of_fit(rounds: Sequence[Costs]) -> float:
    """Up to so many times the error's square the squares of a line are chance."""
    if len(rounds) < 2:
        return math.inf
    left = len(rounds[0]) - _OF_A_LINE
    return left * f_quantile(_FITS_BY_CHANCE, left, _freedom(rounds))


def _freedom(rounds: Sequence[Costs]) -> int:
    return (len(rounds) - 1) * (len(rounds[0]) - 1)


def _others(values: Sequence[float], means: Costs, below: int) -> Iterator[_Try]:
    """What may explain a cost that is on no line."""
    held = _held_from(values, means)
    if held is not None:
        most = max(means)
        found = line(values[:held], means[:held]) if held >= 2 else (most, 0.0)
        predicted = [min(on_line(found, value), most) for value in values]
        yield _Try(Shape.WALL, held, _off(means, predicted), at=held)
    square = [value**2 for value in values]
    predicted, bend = _with_term(values, square, means, means)
    yield _Try(_bent(bend), len(values), _off(means, predicted), power=_power(values, means))
    if below > FEWEST:
        passes, scales = _passes(means[:below])
        predicted, bend = _with_term(values[:below], square[:below], passes, scales)
        # Beyond, all that is known is that it is a whole core.
        costs = [*map(_cost_of_pass, predicted), *means[below:]]
        yield _Try(_bent(bend), below, _off(means, costs), power=_power(values[:below], passes))
    # Two values on either side: one alone is any curve's end.
    for place in range(2, len(values) - 1):
        jump = [float(value >= values[place]) for value in values]
        predicted, _ = _with_term(values, jump, means, means)
        yield _Try(Shape.STEP, len(values), _off(means, predicted), at=place)


def _bent(bend: float) -> Shape:
    return Shape.CURVE_UP if bend > 0 else Shape.CURVE_DOWN


def _power(values: Sequence[float], costs: Costs) -> float:
    return math.log(costs[-1] / costs[-2]) / math.log(values[-1] / values[-2])


def _held_from(values: Sequence[float], means: Costs) -> int | None:
    """The place from which on a cost is held back by what there is to be had; ``None`` if none."""
    most = max(means)
    if most < _FULL_CORES:
        return None
    held = next(place for place, cost in enumerate(means) if cost >= most * _AT_THE_WALL)
    if held < 2:
        # Too few below it to predict anything: a wall if it stays as it is while the number grows.
        return held if len(values) - held >= 2 and values[-1] >= 2 * values[held] else None
    predicted = on_line(line(values[:held], means[:held]), values[-1])
    return held if predicted > _HELD_BACK * means[-1] else None


def _below_a_core(means: Costs) -> int:
    """How many values, from the first on, cost less than a core; 0 where any costs more."""
    if max(means) > _MORE_THAN_ONE:
        return 0
    return next((place for place, cost in enumerate(means) if cost >= _WHOLE_CORE), len(means))


def _passes(costs: Costs) -> tuple[list[float], list[float]]:
    """How long a worker's passes are for what it sleeps, and in which units errors are alike."""
    odds = [max(cost, _SMALLEST) / (1 - min(cost, _WHOLE_CORE)) for cost in costs]
    # What is a share of the cost is that much more of the odds.
    return odds, [one * (1 + one) for one in odds]


def _cost_of_pass(length: float) -> float:
    return max(length, 0.0) / (1 + max(length, 0.0))


def _off(means: Costs, predicted: Sequence[float]) -> list[float]:
    """By what share of the prediction each mean is off it."""
    # A line may go below zero where it does not fit.
    return [
        cost / max(one, cost / 4, _SMALLEST) - 1 for cost, one in zip(means, predicted, strict=True)
    ]


def _with_term(
    values: Sequence[float], term: Sequence[float], costs: Costs, scales: Sequence[float]
) -> tuple[list[float], float]:
    """What a line with one more term says, and how much of that term there is."""
    terms = [_ones(values), values, term]
    coefficients = _fit(terms, costs, scales)
    return _sums(terms, coefficients), coefficients[-1]


def _ones(values: Sequence[float]) -> list[float]:
    return [1.0] * len(values)


def _sums(terms: Sequence[Sequence[float]], coefficients: Sequence[float]) -> list[float]:
    return [
        math.fsum(factor * part for factor, part in zip(coefficients, row, strict=True))
        for row in zip(*terms, strict=True)
    ]


def _fit(
    terms: Sequence[Sequence[float]], costs: Costs, scales: Sequence[float]
) -> tuple[float, ...]:
    """The coefficients by least squares, each cost in units of its scale."""
    # Here, not above: no error message should wait for it.
    import numpy as np

    scale = np.maximum(np.asarray(scales, dtype=float), _SMALLEST)
    design = np.asarray(terms, dtype=float).T / scale[:, None]
    # Columns of one size: squares of thousands beside ones would drown these.
    size = np.linalg.norm(design, axis=0)
    size[size == 0] = 1.0
    solved = np.linalg.lstsq(design / size, np.asarray(costs, dtype=float) / scale, rcond=None)[0]
    return tuple(float(one) for one in solved / size)
