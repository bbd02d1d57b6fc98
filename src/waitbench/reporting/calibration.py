"""A Calibration -> what people read: a sentence, a table, and plain data."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.calibration import POWER, Calibration
from waitbench.analysis.sequential import ALPHA

_SHOWN = (5, 10, 20, 40)
"""Rounds that have a column, besides the last look."""
_MOST = 10
"""Ratios from here on are not worth a figure."""


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Prints how often the gate was wrong, and what it would find."""
    rate = calibration.false_alarms / calibration.comparisons
    console.print(
        f"False alarms: {calibration.false_alarms} of {calibration.comparisons} comparisons of the "
        f"revision with itself ({rate:.1%}, 95 % CI {calibration.low:.1%}–{calibration.high:.1%}); "
        f"{ALPHA:.0%} are allowed.",
    )
    console.print(Text(f"Smallest rise found {POWER:.0%} of the time", style="italic"))
    console.print(_table(calibration))


def plain(calibration: Calibration) -> dict[str, Any]:
    """Plain data, for ``calibration.json``."""
    return {
        "comparisons": calibration.comparisons,
        "false_alarms": calibration.false_alarms,
        "interval": [calibration.low, calibration.high],
        "changes": [asdict(sensitivity) for sensitivity in calibration.sensitivities],
    }


def _table(calibration: Calibration) -> Table:
    looks = sorted({look for s in calibration.sensitivities for look in s.by_rounds})
    shown = [look for look in looks if look in (*_SHOWN, looks[-1])]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("scenario", "criterion"):
        table.add_column(heading)
    for look in shown:
        table.add_column(f"{look} rounds", justify="right")
    for sensitivity in calibration.sensitivities:
        changes = (_change(sensitivity.by_rounds[look]) for look in shown)
        table.add_row(Text(sensitivity.place), Text(sensitivity.criterion), *changes)
    return table


def _change(ratio: float) -> str:
    return f"+{ratio - 1:.0%}" if ratio < _MOST else f"> {(_MOST - 1) * 100} %"
