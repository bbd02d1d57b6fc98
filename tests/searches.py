"""Whole searches, for what shows them: stages over made-up commits and releases."""

from tests.analysis.searched import history, search
from waitbench.analysis.bisection import Grain, Searched, Stage
from waitbench.analysis.criteria import Criterion
from waitbench.model.metrics import BY_NAME
from waitbench.model.revision import Commit, LoggedCommit, Point, Release

HOSTILE = "<b>a|b\u202e`$(x)`"
"""A subject as anybody may write it."""


def commits(points: int, *rises: tuple[int, float], unbuildable: tuple[int, ...] = ()) -> Stage:
    """A search over commits that are called c0, c1, …, carried to its end."""
    found = search(history(points, *rises), unbuildable=unbuildable)
    return Stage(
        grain=Grain.COMMITS,
        points=tuple(_commit(number) for number in range(points)),
        labels=tuple(f"c{number}" for number in range(points)),
        search=found,
        missing=dict.fromkeys(sorted(found.missing), "it does not build"),
    )


def releases(points: int, *rises: tuple[int, float]) -> Stage:
    """The same over releases v0.0, v0.1, …"""
    return Stage(
        grain=Grain.RELEASES,
        points=tuple(Point(source=Release(f"0.{number}")) for number in range(points)),
        labels=tuple(f"v0.{number}" for number in range(points)),
        search=search(history(points, *rises)),
    )


def searched(*stages: Stage, remarks: tuple[str, ...] = ()) -> Searched:
    """What was asked, and these stages of it."""
    return Searched(
        ends=(stages[0].labels[0], stages[0].labels[-1]),
        criterion=Criterion(metric=BY_NAME["steady"], margin=0.10),
        faster=False,
        scenarios=("partitioned-long-input",),
        stages=stages,
        prefix="",
        variant="",
        options=("-p", "2"),
        remarks=remarks,
    )


def _commit(number: int) -> Point:
    identity = f"{number:040x}"
    logged = LoggedCommit(
        commit=identity,
        parents=(),
        subject=HOSTILE,
        author="A. Author",
        date="2026-01-01T00:00:00+00:00",
    )
    return Point(source=Commit(identity), commit=logged)
