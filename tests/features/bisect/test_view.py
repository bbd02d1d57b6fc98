"""The report of a search: the headline, the findings, and the same in every form."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.features.bisect.searched import history, search
from tests.frozen.checking import check
from tests.reporting.printing import lines_of
from waitbench.analysis.criteria import Criterion
from waitbench.features.bisect import view
from waitbench.features.bisect.search import Search, Step
from waitbench.features.bisect.view import Bisection
from waitbench.model.metrics import BY_NAME
from waitbench.model.revision import Origin, Point, Source
from waitbench.model.verdicts import Verdict
from waitbench.reporting import markdown
from waitbench.reporting.console import print_report

EXPECTED = Path(__file__).parent / "expected"


def commits(points: int, *rises: tuple[int, float], unbuildable: tuple[int, ...] = ()) -> Search:
    """A search over commits that are called c0, c1, …, carried to its end."""
    return search(history(points, *rises), unbuildable=unbuildable)


def releases(points: int, *rises: tuple[int, float]) -> Search:
    """The same over releases v0.0, v0.1, …"""
    versions = [f"0.{number}" for number in range(points)]
    sources = (Point(label=f"v{it}", source=Source(Origin.WHEEL, it)) for it in versions)
    return replace(commits(points, *rises), points=tuple(sources))


def searched(*searches: Search) -> Bisection:
    """What was asked, and these searches."""
    return Bisection(
        criterion=Criterion(metric=BY_NAME["idle"], margin=0.10),
        faster=False,
        scenarios=("partitioned-long-input",),
        searches=[*searches],
    )


def merge_named() -> Search:
    """A search whose culprit is a merge, whose parents the report names."""
    ended = commits(4, (2, 0.25))
    point = ended.points[2]
    assert point.commit is not None
    merge = replace(point.commit, parents=("a" * 40, "b" * 40))
    points = (*ended.points[:2], replace(point, commit=merge), *ended.points[3:])
    return replace(ended, points=points)


def inconclusive(*, is_disturbed: bool) -> Search:
    """A search that ended with such a step."""
    ended = commits(4)
    changes = [replace(it, verdict=Verdict.INCONCLUSIVE) for it in ended.steps[0].changes]
    step = Step(changes=tuple(changes), is_disturbed=is_disturbed, rounds=30)
    return replace(ended, steps=(step,))


FOUND = searched(releases(4, (2, 0.25)), commits(8, (5, 0.25)))
CASES = {
    "FOUND: idle CPU +25 % (+25 %) with c5, relative to c4": FOUND,
    "FOUND: idle CPU +25 % (+25 %) with v0.2, relative to v0.1": searched(releases(4, (2, 0.25))),
    "NO CHANGE PROVEN: idle CPU from c0 to c3, built here: 0 % (0 %)": searched(commits(4)),
    "OPEN: idle CPU from c16 to c32: no single step certainly exceeds 10 %": searched(
        commits(33, *((at, 0.01) for at in range(1, 33)))
    ),
    "RANGE: idle CPU +25 % (+25 %) after c2, up to c6: nothing between can be": searched(
        commits(8, (4, 0.25), unbuildable=(3, 4, 5))
    ),
    "FOUND: a merge": searched(merge_named()),
    "OPEN: an inconclusive step": searched(inconclusive(is_disturbed=False)),
    "OPEN: other programs used the machine": searched(inconclusive(is_disturbed=True)),
    "OPEN: nothing was measured": searched(replace(commits(4), steps=())),
}


@pytest.mark.parametrize("case", CASES)
def test_a_search_in_each_form(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = f"{case.partition(':')[0].lower().replace(' ', '-')}-{[*CASES].index(case)}"
    report, as_json = view.summarize(CASES[case]), view.as_json(CASES[case])
    shown = lines_of(lambda to: print_report(report, to))
    check(f"{name}-80.txt", "\n".join([*shown, ""]), EXPECTED)
    check(f"{name}.md", markdown.render_report(report), EXPECTED)
    check(f"{name}.json", json.dumps(as_json, indent=1) + "\n", EXPECTED)
