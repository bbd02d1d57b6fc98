"""The model in the worker's own process: no pipes, and no second core."""

import time
from collections.abc import Sequence
from typing import Any

from call import Call, are_finite, require_lines
from model_process import ModelError


class InProcessScorer:
    """Vowpal Wabbit by its Python package. ``arguments`` are those of ``vw``."""

    def __init__(self, arguments: Sequence[str]) -> None:
        from vowpalwabbit import Workspace

        self._model: Any = Workspace(" ".join(arguments))

    def score(
        self, context: bytes, candidates: Sequence[bytes], limit_s: float
    ) -> tuple[list[float], Call]:
        """Predictions for as many of the first candidates as the limit allows, in order.

        Raises ``ModelError``; ``ValueError`` for what is more than a line.
        """
        begun = time.perf_counter()
        deadline = begun + limit_s
        call = Call()
        require_lines(context, candidates)
        prefix = context.decode() + " "
        predict = self._model.predict
        predictions: list[float] = []
        call.prepare_s = time.perf_counter() - begun
        for candidate in candidates:
            if time.perf_counter() > deadline:
                break
            predictions.append(predict(prefix + candidate.decode()))
        if not are_finite(predictions):
            raise ModelError(f"the model's predictions are not all numbers: {predictions[:5]!r}")
        call.lines = len(predictions)
        call.total_s = time.perf_counter() - begun
        return predictions, call

    def close(self) -> None:
        self._model.finish()
