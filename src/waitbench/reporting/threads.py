"""Samples of threads -> the threads that a chart has room for."""

from collections.abc import Sequence

from waitbench.model.run import ThreadSample

_QUIET = 0.02
"""Threads that never use more than this share are left out."""
_MOST_ROWS = 24

Points = list[tuple[float, float]]
"""Seconds since the run began, and the share of a CPU up to then."""


def worth_a_row(label: str, samples: Sequence[ThreadSample]) -> dict[str, Points]:
    """Points of each thread worth a row, in order of process and thread."""
    points: dict[str, Points] = {}
    for sample in samples:
        if sample.label == label:
            name = f"{sample.process} · {sample.thread}"
            points.setdefault(name, []).append((sample.time_s, sample.share))
    used = {name: [share for _, share in series] for name, series in points.items()}
    loud = [name for name, shares in used.items() if max(shares) > _QUIET]
    busiest = sorted(loud, key=lambda name: -sum(used[name]))[:_MOST_ROWS]
    return {name: points[name] for name in sorted(busiest)}
