"""Whole searches, for what shows them: over made-up commits and releases."""

from dataclasses import replace

from tests.analysis.searched import history, search
from waitbench.analysis.bisection import Search
from waitbench.analysis.criteria import Criterion
from waitbench.model.metrics import BY_NAME
from waitbench.model.revision import Origin, Point, Source
from waitbench.reporting.bisection import Searched


def commits(points: int, *rises: tuple[int, float], unbuildable: tuple[int, ...] = ()) -> Search:
    """A search over commits that are called c0, c1, …, carried to its end."""
    return search(history(points, *rises), unbuildable=unbuildable)


def releases(points: int, *rises: tuple[int, float]) -> Search:
    """The same over releases v0.0, v0.1, …"""
    named = search(history(points, *rises))
    return replace(
        named,
        points=tuple(Point(source=Source(Origin.WHEEL, f"0.{number}")) for number in range(points)),
        labels=tuple(f"v0.{number}" for number in range(points)),
    )


def searched(*searches: Search, remarks: tuple[str, ...] = ()) -> Searched:
    """What was asked, and these searches."""
    return Searched(
        criterion=Criterion(metric=BY_NAME["steady"], margin=0.10),
        faster=False,
        scenarios=("partitioned-long-input",),
        searches=searches,
        options=("-p", "2"),
        remarks=remarks,
    )
