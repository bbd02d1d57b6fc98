"""``scenarios``: lists the scenarios of dataflows."""

from waitbench.engines import SCENARIOS
from waitbench.reporting.console import make_console, print_cells
from waitbench.reporting.document import Table


def scenarios() -> None:
    """List the scenarios, and what each is for."""
    rows = [
        {
            "scenario": it.name,
            "what it is for": it.purpose + ("" if it.by_default else " [only when named]"),
        }
        for it in SCENARIOS
    ]
    print_cells(Table.of_texts("", rows), make_console())
