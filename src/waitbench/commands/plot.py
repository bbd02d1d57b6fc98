"""``plot``: draws the charts of a folder of results."""

from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.pipeline.concluding import findings_of
from waitbench.reporting.console import make_console
from waitbench.store import comparisons, folders

EXAMPLES = """
\b
Examples:
  ./plot.sh
  ./plot.sh docs/samples/input
"""


def plot(results: options.SavedResults = None) -> None:
    """Draw the charts of a folder of results."""
    folder = folders.existing_folder(results)
    findings = findings_of(comparisons.read(folder))
    # Imported late: matplotlib takes a second, and errors are reported without it.
    from waitbench.reporting import charts

    paths = charts.draw_all(findings)
    if not paths:
        raise UsageError(f"Nothing was measured in {str(folder)!r}. {comparisons.MEASURE_FIRST}")
    for path in paths:
        make_console().print(str(path), soft_wrap=True)
