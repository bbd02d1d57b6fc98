"""Where workers wait: a file of a line per revision; and folded stacks for flame graphs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from waitbench.features.why.samples import Why
from waitbench.store.formats import reading
from waitbench.system import files
from waitbench.system.streams import printable

SUFFIX = ".why.jsonl"
_FOLDED = ".folded"
_UNITS = {"wakeups": 1_000, "cpu": 1_000_000}
"""Scales, as flame graphs take integers: wake-ups in 1,000 s, CPU in µs/s."""


def write(folder: Path, scenario: str, whys: Sequence[Why]) -> None:
    text = msgspec.json.Encoder().encode_lines(whys).decode()
    files.write_text(folder / f"{scenario}{SUFFIX}", text)


def write_folded(
    folder: Path, scenario: str, label: str, stacks: Mapping[str, Mapping[str, float]]
) -> None:
    for unit, amounts in stacks.items():
        rounded = {stack: round(amount * _UNITS[unit]) for stack, amount in amounts.items()}
        # The number follows the last space of a line.
        lines = [
            f"{' '.join(printable(stack).split())} {number}\n"
            for stack, number in sorted(rounded.items())
            if number
        ]
        if lines:
            name = re.sub(r"[^\w.+-]+", "-", label)
            files.write_text(folder / f"{scenario}.{name}.{unit}{_FOLDED}", "".join(lines))


def paths(folder: Path) -> list[Path]:
    return sorted((*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{_FOLDED}")))


def of(folder: Path, scenario: str) -> list[Why]:
    """Reads a file of ``write``, if it exists. Raises ``UsageError`` for any other content."""
    path = folder / f"{scenario}{SUFFIX}"
    if not files.is_there(path):
        return []
    with reading(path):
        return msgspec.json.Decoder(Why).decode_lines(files.read(path))
