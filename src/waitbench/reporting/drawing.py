"""What charts of either kind, files and those of a page, share."""

from collections.abc import Sequence

from waitbench.model.run import ThreadSample

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Of revisions: Okabe and Ito's palette, which colour-blind readers can tell apart.

See jfly.uni-koeln.de/color.
"""
_FAR_APART = 5
"""From this factor on a scale is logarithmic, so that what is small can be told apart too."""
_QUIET = 0.02
"""Threads that never use more than this share are left out."""
_MOST_ROWS = 24

Points = list[tuple[float, float]]
"""Seconds since the run began, and the share of a CPU up to then."""


def are_far_apart(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale tells all of them apart."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > _FAR_APART


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
