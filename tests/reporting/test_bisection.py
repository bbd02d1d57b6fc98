"""What is said of a search: the headline, the findings, and the same in every form."""

from dataclasses import replace

import pytest

from tests.searches import commits, releases, searched
from waitbench.analysis.bisection import Searched
from waitbench.reporting import bisection, markdown
from waitbench.reporting.charts import search
from waitbench.reporting.document import Quote

FOUND = searched(releases(4, (2, 0.25)), commits(8, (5, 0.25)))
CASES = {
    "FOUND: the workers' steady CPU rose with v0.2, in c5": FOUND,
    "FOUND: the workers' steady CPU rose with c2 and c6": searched(
        commits(8, (2, 0.25), (6, 0.25))
    ),
    "FOUND: the workers' steady CPU rose with v0.2": searched(releases(4, (2, 0.25))),
    "NO CHANGE PROVEN: the workers' steady CPU has not risen": searched(commits(4)),
    "GRADUAL: the workers' steady CPU rose between c0 and c32": searched(
        commits(33, *((at, 0.01) for at in range(1, 33)))
    ),
    "RANGE: the workers' steady CPU rose among": searched(
        commits(8, (4, 0.25), unbuildable=(3, 4, 5))
    ),
}


@pytest.mark.parametrize("found", CASES.values(), ids=CASES)
def test_every_search_can_be_drawn(found: Searched) -> None:
    assert search.draw(found) is not None


def test_a_culprit_has_author_files_and_the_command_that_measures_it_again() -> None:
    assert bisection.to_repeat(FOUND)[-1] == (
        "./compare.sh c4 c5 -s partitioned-long-input --fail-on steady:10% -p 2"
    )
    of_worker = replace(FOUND, options=("--worker", "mine.toml"))
    assert bisection.to_repeat(of_worker)[-1] == (
        "./compare.sh c4 c5 --fail-on steady:10% --worker mine.toml"
    )
    (quote,) = (one for one in bisection.document(FOUND).blocks if isinstance(one, Quote))
    assert quote.lines[1:] == [
        "A. Author, 2026-01-01T00:00:00+00:00",
        "files: " + ", ".join(f"src/{at}.rs" for at in range(8)) + ", 2 more",
    ]


def test_what_hides_among_what_cannot_be_measured_is_said_with_why() -> None:
    found = CASES["RANGE: the workers' steady CPU rose among"]
    (finding,) = bisection.findings(found)
    assert finding.startswith("After c2, up to c6:")
    assert "one of these 4" in finding
    assert "c4 cannot be measured: it does not build" in bisection.remarks(found)


def test_what_a_busy_machine_hides_is_not_said_to_be_small() -> None:
    stage = releases(4)
    (step, answer), *rest = stage.search.answers
    assert "would have been found" in bisection.findings(searched(stage))[0]
    busy = replace(answer, is_disturbed=True)
    search = replace(stage.search, answers=((step, busy), *rest))
    (said,) = bisection.findings(searched(replace(stage, search=search)))
    assert "other programs used the machine" in said
    assert "would have been found" not in said


def test_a_subject_is_text_in_markdown() -> None:
    rendered = markdown.render(bisection.document(FOUND))
    assert "<b>" not in rendered
    assert "\u202e" not in rendered


def test_commits_aside_are_said() -> None:
    stage = commits(4)
    point = stage.points[0].commits[0]
    assert bisection.about_aside(stage, ()) == []
    (said,) = bisection.about_aside(stage, (point, point))
    assert said.startswith("The good end has 2 commits of its own")
