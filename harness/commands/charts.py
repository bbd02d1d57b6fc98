"""``plot``, ``report`` and ``scenarios``: what takes no measuring."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness import results, timeline
from harness.errors import UsageError
from harness.families import ALL
from harness.results import Record

FORMATS = ("png", "svg")


def plot(folder: Path, formats: Sequence[str], output: Console) -> None:
    """Draws the charts of a results folder. Raises ``UsageError`` for a format that is none."""
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"--format {name!r} is none of: {', '.join(FORMATS)}.")
    for path in draw(results.read_all(folder), folder, formats):
        output.print(str(path), soft_wrap=True)


def draw(records: Sequence[Record], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for. Returns the files."""
    # Here, not above: these take a second to import, which no run and no error message should wait for.
    from harness import charts, family_reports, statistics

    sampled = {record.scenario: folder / f"{record.scenario}{timeline.SUFFIX}" for record in records}
    timelines = {scenario: timeline.read(path) for scenario, path in sampled.items() if path.exists()}
    drawn = charts.draw_all([statistics.compare(record) for record in records], timelines, folder, formats)
    return drawn + [
        charts.save(figure, folder, name, form)
        for name, figure in family_reports.figures(records).items()
        for form in formats
    ]


def report(folder: Path, markdown: Path | None, output: Console) -> None:
    """Prints the tables of a results folder; those of the families also as Markdown, where a file is named."""
    from harness import family_reports, paging, statistics
    from harness import report as comparison_report
    from harness.family_reports import embedding, paged_output

    loads, paged = results.read_load(folder), results.read_paging(folder)
    records = () if (loads or paged) and not results.has_records(folder) else results.read_all(folder)
    for record in records:
        comparison_report.print_comparison(statistics.compare(record), output)
    tables = family_reports.tables(records) + embedding.load_tables(loads)
    if paged:
        tables += paged_output.paging_tables(paging.from_plain(paged["rows"]), paged["idle_share"])
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
