"""What more rounds would settle, and what so many rounds could have found."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from tests.analysis.judged import ALONE, CPU, judge, scattered
from tests.records import make_record, times
from waitbench.analysis import sequential
from waitbench.analysis.judging import Judgement
from waitbench.analysis.verdicts import Verdict


def test_what_the_rounds_left_would_hardly_settle_is_given_up() -> None:
    margin = math.log(1.1)

    def found(count: int, most_rounds: int, centre: float = margin) -> Judgement:
        return judge(scattered(centre, count), ALONE, most_rounds=most_rounds)[0]

    assert not found(3, 10).hopeless, "three rounds hardly say how noisy it is"
    given_up = found(8, 10)
    assert (given_up.hopeless, given_up.settled) == (True, True)
    assert given_up.is_open, "it is given up, not answered"
    assert not found(8, 100).hopeless, "a hundred rounds would do"
    assert not found(8, 8).hopeless, "there is nothing left to save"
    assert not found(8, 10, margin + 0.3).hopeless, "so far off that the rounds left would do"
    assert not found(8, 10, margin - 0.3).hopeless


@pytest.mark.parametrize("slower", [True, False])
@pytest.mark.parametrize(("share", "hopeless"), [(0.98, True), (1.02, False)])
def test_hope_is_that_the_centre_may_move_as_far_as_is_likely_until_the_end(
    slower: bool, share: float, hopeless: bool
) -> None:
    count, last, hypotheses = 6, 10, 4
    standard_error = 0.1 / math.sqrt(5)
    # After ten rounds, of which the first and the last are cut: seven degrees of freedom.
    errors = sequential.errors_at(last, hypotheses)
    error = errors.alarm if slower else errors.clear
    half = standard_error * math.sqrt(count / last) * stats.t.ppf(1 - error, 7)
    reach = standard_error * math.sqrt(1 - count / last) * stats.t.ppf(0.975, count - 1)
    distance = share * (half - reach) * (1 if slower else -1)
    record = scattered(math.log(1.1) + distance, count)
    (judgement,) = judge(record, ALONE, hypotheses=hypotheses, most_rounds=last)
    assert (judgement.verdict, judgement.hopeless) == (Verdict.INCONCLUSIVE, hopeless)


def test_astronomic_bounds_stay_numbers_that_files_can_hold() -> None:
    record = make_record({
        "a": [times(1, 0, 1)] * 3,
        "b": [times(1, 0, value) for value in (1e-3, 1e6, 1e-3)],
    })  # fmt: skip
    (judgement,) = judge(record, ALONE)
    assert judgement.high == pytest.approx(1e9)
    assert (judgement.low, judgement.would_have_found) == (None, None)


def test_the_supported_margin_is_the_upper_bound_of_what_did_not_change() -> None:
    judgement = Judgement(
        place="s", scenarios=("s",), label="l", criterion=CPU, ratio=1.2, low=0.8, high=1.5
    )
    assert judgement.supported_margin == pytest.approx(0.25)
    assert replace(judgement, ratio=None).supported_margin is None
    assert replace(judgement, high=None).supported_margin is None


def test_what_would_have_been_found_is_found_nineteen_times_of_twenty() -> None:
    (judgement,) = judge(scattered(0.0, 30), CPU, most_rounds=30)
    assert judgement.would_have_found is not None
    errors = sequential.errors_at(30, 1)
    logs = [0.1, -0.1] * 15
    found = sequential.bounds(logs, errors)
    half = found.centre - found.low
    rise = math.log1p(judgement.would_have_found)
    assert rise == pytest.approx(math.log(1.1) + half + 1.645 * found.standard_error)
    # The centre of another such series falls short of the rise by this much once in twenty.
    short = stats.norm.ppf(0.05) * found.standard_error
    assert rise + short - half == pytest.approx(math.log(1.1), abs=1e-4)
