"""Criteria of tests, written as reports write them."""

from collections.abc import Sequence

from waitbench.analysis.criteria import Criterion
from waitbench.model.metrics import Metric
from waitbench.pipeline.gating import parse_limit, parse_rise

LIMIT = "limit "


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    return tuple(
        parse_limit(text.removeprefix(LIMIT), metrics)
        if text.startswith(LIMIT)
        else parse_rise(text, metrics)
        for text in texts
    )
