"""Where workers wait: a line a revision; and stacks as drawers of flame graphs take them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from waitbench.model.why import Why
from waitbench.store.formats import reading
from waitbench.system import files
from waitbench.system.streams import printable

SUFFIX = ".why.jsonl"
"""What follows the scenario in the file's name."""
_FOLDED = ".folded"
_UNITS = {"wakeups": 1_000, "cpu": 1_000_000}
"""What one is written as, for drawers take whole numbers: wake-ups in 1,000 s, CPU in µs/s."""


def write(folder: Path, scenario: str, several: Sequence[Why]) -> None:
    """Writes what some revisions showed in a scenario. Raises ``HarnessError``."""
    text = msgspec.json.Encoder().encode_lines(several).decode()
    files.write_text(folder / f"{scenario}{SUFFIX}", text)


def write_folded(
    folder: Path, scenario: str, label: str, stacks: Mapping[str, Mapping[str, float]]
) -> None:
    """Writes the stacks of one revision, a file for each unit. Raises ``HarnessError``."""
    for unit, amounts in stacks.items():
        rounded = {stack: round(amount * _UNITS[unit]) for stack, amount in amounts.items()}
        # The number is what follows the last space of a line.
        lines = [
            f"{' '.join(printable(stack).split())} {number}\n"
            for stack, number in sorted(rounded.items())
            if number
        ]
        if lines:
            name = re.sub(r"[^\w.+-]+", "-", label)
            files.write_text(folder / f"{scenario}.{name}.{unit}{_FOLDED}", "".join(lines))


def paths(folder: Path) -> list[Path]:
    """The files that ``write`` and ``write_folded`` have made."""
    return sorted((*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{_FOLDED}")))


def of(folder: Path, scenario: str) -> list[Why]:
    """What revisions showed in a scenario; none, if nobody looked.

    Raises ``UsageError`` where the file is not one of ours.
    """
    path = folder / f"{scenario}{SUFFIX}"
    if not path.exists():
        return []
    with reading(path):
        return msgspec.json.Decoder(Why).decode_lines(files.read(path))
