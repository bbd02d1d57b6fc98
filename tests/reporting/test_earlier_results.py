"""Results of before the present file format give the figures that they gave then.

The files in ``expected/`` are what the code of that time printed of each scenario, 80 columns wide.
Changed by hand since: whose launcher it was, which those results do not say, is "the engine's"; and
why a revision lacks a scenario is said as the result file says it; and what is called a change is
certain among all scenarios.
"""

from pathlib import Path

import pytest
from rich.console import Console

from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.reporting.tables import print_comparison
from waitbench.store import comparisons

EXPECTED = sorted((Path(__file__).parent / "expected").glob("*.txt"))
RESULTS = Path(__file__).parents[1] / "fixtures" / "format-1"


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda path: path.stem)
def test_tables_of_earlier_results_are_what_they_were(expected: Path) -> None:
    folder = RESULTS if expected.stem == "input" else RESULTS / expected.stem
    found = statistics.compare_all(comparisons.read(folder).records)

    def show(console: Console) -> None:
        for comparison in found:
            print_comparison(comparison, console)

    assert lines_of(show)[:-1] == expected.read_text("utf-8").splitlines()


def test_every_folder_of_earlier_results_with_scenarios_is_compared() -> None:
    folders = {path.parent for path in RESULTS.rglob("runs.csv")}
    assert {folder.name for folder in folders} == {
        *(path.stem for path in EXPECTED if path.stem != "input"),
        RESULTS.name,
    }
