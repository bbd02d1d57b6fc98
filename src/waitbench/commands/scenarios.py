"""``scenarios``: the list of scenarios."""

from rich.table import Table

from waitbench.engines import SCENARIOS
from waitbench.reporting.console import make_console


def scenarios() -> None:
    """List the scenarios, and what each is for."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it is for")
    for scenario in SCENARIOS:
        note = "" if scenario.by_default else " [only when named]"
        table.add_row(scenario.name, scenario.purpose + note)
    make_console().print(table)
