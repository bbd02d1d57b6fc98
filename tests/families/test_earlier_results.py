"""Tables of results that an earlier version wrote: the figures are those that it printed.

The expected texts were printed by the version that measured them; only the note below the table of
``embedding-worker`` has been worded anew since, and the CPU of a worker's request is no longer
said where only that of its whole run is known.
"""

import io
from pathlib import Path

import pytest
from rich.console import Console

from waitbench import families
from waitbench.store import comparisons

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parent / "fixtures" / "format-1"


@pytest.mark.parametrize(
    "name", ["scoring", "embedding-worker", "embedding", "embedding/call-cost-40", "paged-output"]
)
def test_tables_of_the_first_format_are_what_they_were(name: str) -> None:
    output = io.StringIO()
    console = Console(file=output, width=80, highlight=False)
    for table in families.tables(comparisons.read(RESULTS / name)):
        table.print_to(console)
    expected = FOLDER / "format-1" / f"{name.replace('/', '-')}.txt"
    assert output.getvalue() == expected.read_text("utf-8")


@pytest.mark.parametrize("name", ["", "waiting"])
def test_families_that_only_wait_for_input_add_no_table(name: str) -> None:
    assert families.tables(comparisons.read(RESULTS / name)) == []
