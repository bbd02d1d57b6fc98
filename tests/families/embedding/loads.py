"""Loads made by hand."""

from collections import Counter

from waitbench.families.embedding.kept import ModeLoad
from waitbench.families.embedding.traffic import Load


def one_load(
    fastest_s: float, answered: int, *, failed: int = 0, upstream_calls: int | None = None
) -> ModeLoad:
    """A load of 10 s in which the embedder used 1 s of CPU."""
    load = Load("asyncio", 10.0, [fastest_s] * answered, Counter({"200": answered}), checked=2)
    load.body_bytes = answered * 2048
    if failed:
        load.statuses["503"] = failed
        load.last_words["503"] = "busy"
    load.percentiles_s = {
        "min": fastest_s,
        "mean": 0.5,
        "50%": 0.5,
        "90%": 0.6,
        "99%": 0.7,
        "max": 1.0,
    }
    cpu_s = {"embedder": 1.0} if upstream_calls is None else {"embedder": 1.0, "proxy": 0.5}
    return ModeLoad(load, cpu_s, upstream_calls)
