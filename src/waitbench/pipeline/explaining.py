"""Extra runs that give no figure: who wakes up."""

from pathlib import Path

from waitbench.execution import why as looking
from waitbench.execution.bench import Bench
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.scenario import Scenario
from waitbench.model.why import Why
from waitbench.reporting import why as reasons
from waitbench.reporting.document import Table
from waitbench.reporting.progress import RunProgress
from waitbench.store import why
from waitbench.system import tasks


def require_possible() -> None:
    """Raises ``UsageError`` where this machine does not say who wakes up."""
    if not tasks.is_possible():
        raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")


def explain(scenario: Scenario, bench: Bench, folder: Path, progress: RunProgress) -> list[Table]:
    """Makes one more run of each revision that can run a scenario; what it shows is written.

    Returns the tables of where those wait that could be looked at, and why the others could not.
    """
    found: list[Why] = []
    lacking: dict[str, str] = {}
    for label in bench.environments:
        if bench.what_is_missing(scenario, label) is not None:
            continue
        progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
        try:
            found.append(looking.record(scenario, label, bench))
        except HarnessError as error:
            lacking[label] = str(error)
    if found:
        why.write(folder, scenario.name, found)
    for one in found:
        why.write_folded(folder, scenario.name, one.label, reasons.folded(one))
    return reasons.tables(scenario.name, found, lacking)
