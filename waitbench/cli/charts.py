"""``plot``, ``report`` and ``scenarios``: what takes no measuring."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from waitbench.execution import timeline
from waitbench.families import ALL
from waitbench.model.errors import UsageError
from waitbench.store import results
from waitbench.store.results import Contents

FORMATS = ("png", "svg")


def plot(folder: Path, formats: Sequence[str], output: Console) -> None:
    """Draws the charts of a results folder. Raises ``UsageError`` for a format that is none."""
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"--format {name!r} is none of: {', '.join(FORMATS)}.")
    for path in draw(results.read_folder(folder), folder, formats):
        output.print(str(path), soft_wrap=True)


def draw(contents: Contents, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for. Returns the files."""
    # Here, not above: these take a second to import, which no run and no error message should wait for.
    from waitbench.analysis import statistics
    from waitbench.families import reports as family_reports
    from waitbench.reporting import charts

    records = contents.records
    sampled = {record.scenario: folder / f"{record.scenario}{timeline.SUFFIX}" for record in records}
    timelines = {scenario: timeline.read(path) for scenario, path in sampled.items() if path.exists()}
    drawn = charts.draw_all([statistics.compare(record) for record in records], timelines, folder, formats)
    return drawn + [
        charts.save(figure, folder, name, form)
        for name, figure in family_reports.figures(contents).items()
        for form in formats
    ]


def show_families(folder: Path, name: str, output: Console) -> None:
    """Prints and draws what a command beside ``compare`` has left in a folder, in the file with this name."""
    from waitbench.families import reports as family_reports

    contents = results.read_folder(folder)
    for table in family_reports.tables(contents):
        table.print_to(output)
    drawn = draw(contents, folder, ("png",))
    output.print(f"Results in {folder}: {', '.join([name, *(path.name for path in drawn)])}", soft_wrap=True)


def report(folder: Path, markdown: Path | None, output: Console) -> None:
    """Prints the tables of a results folder; those of the families also as Markdown, where a file is named."""
    from waitbench.analysis import statistics
    from waitbench.families import reports as family_reports
    from waitbench.reporting import report as comparison_report

    contents = results.read_folder(folder)
    for record in contents.records:
        comparison_report.print_comparison(statistics.compare(record), output)
    tables = family_reports.tables(contents)
    for table in tables:
        table.print_to(output)
    if markdown is not None:
        results.write_safely(markdown, "\n".join(table.as_markdown() for table in tables))


def list_scenarios(output: Console) -> None:
    """Prints the table of scenarios."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it is for")
    for scenario in ALL:
        table.add_row(scenario.name, scenario.purpose + ("" if scenario.by_default else " [only when named]"))
    output.print(table, markup=False)
