"""A Calibration -> what people read: a sentence, a table, and plain data."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.calibration import POWER, Calibration
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.console import print_cells
from waitbench.reporting.document import Table

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
    print_cells(_table(calibration), console)


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
    return Table(
        title="",
        header=("scenario", "criterion", *(f"{look} rounds" for look in shown)),
        rows=tuple(
            (one.place, one.criterion, *(_change(one.by_rounds[look]) for look in shown))
            for one in calibration.sensitivities
        ),
        names=2,
    )


def _change(ratio: float) -> str:
    return f"+{ratio - 1:.0%}" if ratio < _MOST else f"> {(_MOST - 1) * 100} %"
