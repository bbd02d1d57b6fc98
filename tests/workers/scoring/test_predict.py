"""What predict.py measures, and of what."""

from call import Call
from predict import WARM_UP_CALLS, WAYS, measure, warm_up
from problem import Problem

from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS


class FakeScorer:
    """Notes how it was asked, and predicts nothing at every other call."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, int, float]] = []

    def score(
        self, context: bytes, candidates: list[bytes], limit_s: float
    ) -> tuple[list[float], Call]:
        self.asked.append((context, len(candidates), limit_s))
        return [0.5] * (len(self.asked) % 2), Call(total_s=0.25)


def test_a_scorer_is_warmed_up_with_other_contexts_within_the_limit_of_all() -> None:
    scorer = FakeScorer()
    warm_up(scorer, Problem(30), 0.25)  # type: ignore[arg-type]
    (_, lines, limit_s), *warming = scorer.asked
    assert lines == 1
    assert limit_s > 10, "the first call waits for the model to start"
    assert {(lines, limit_s) for _, lines, limit_s in warming} == {(30, 0.25)}
    assert len({context for context, _, _ in warming}) == WARM_UP_CALLS


def test_each_call_gives_one_figure_of_each_metric_also_one_without_a_line() -> None:
    worker = worker_file.read(WORKERS / "scoring" / "predict.toml")
    assert list(worker.variants) == list(WAYS)
    scorer = FakeScorer()
    found = measure(scorer, Problem(30), 4, 0.25)  # type: ignore[arg-type]
    assert set(found) == set(worker.metrics)
    assert found["lines"] == [1, 0, 1, 0]
    assert found["predict"] == [0.25] * 4
    assert len(found["caller-cpu"]) == 4
    assert len({context for context, _, _ in scorer.asked}) == 4
