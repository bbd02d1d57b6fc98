"""Scans: one parameter at several values, each of which is a scenario."""

import re
from dataclasses import dataclass

import msgspec

from waitbench.model.errors import UsageError
from waitbench.model.metrics import FileName, Quantity

TOPOLOGY = ("processes", "workers")
"""Scannable attributes of the topology, rather than parameters of a scenario."""

SILENCE = "silence"
"""Scans the window before the poke for its effect on lateness, not for the cost of a second."""

_SCAN = re.compile(r"(?P<name>[a-z][a-z0-9_]*)=(?P<values>.+)")
_RANGE = re.compile(r"(?P<low>\d{1,9}):(?P<high>\d{1,9})")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
EXAMPLE = "such as --scan partitions=1:4096 (1, 2, 4, 8 …), or --scan partitions=1,16,256"
_FEWEST, _MOST = 3, 64  # two values are always on a line


class ScanPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a scenario on a curve."""

    scenario: FileName
    parameter: FileName
    value: Quantity

    @property
    def curve(self) -> tuple[str, str]:
        return self.scenario, self.parameter


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A parameter and its ascending values."""

    parameter: str
    values: tuple[int | float, ...]

    @classmethod
    def parse(cls, text: str) -> "Scan":
        """Reads ``NAME=LOW:HIGH``, doubled up to HIGH, or ``NAME=A,B,C``. Raises ``UsageError``."""
        match = _SCAN.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--scan {text!r} is not NAME=VALUES, {EXAMPLE}.")
        values = sorted(_values(match["values"], text))
        if len(values) < _FEWEST or len(values) > _MOST:
            raise UsageError(
                f"--scan {text!r} has {len(values)} values: a curve takes {_FEWEST} to {_MOST}, "
                f"{EXAMPLE}."
            )
        if len(set(values)) < len(values):
            raise UsageError(f"--scan {text!r} names a value twice.")
        if match["name"] in TOPOLOGY and not all(isinstance(value, int) for value in values):
            raise UsageError(f"--scan {text!r}: {match['name']} are whole numbers.")
        return cls(parameter=match["name"], values=tuple(values))

    @property
    def setting(self) -> str:
        return "window" if self.parameter == SILENCE else self.parameter

    def settings(self, value: int | float) -> tuple[str, ...]:
        """The equivalent values of ``--set``, if it sets a parameter of the scenario."""
        return () if self.parameter in TOPOLOGY else (f"{self.setting}={value}",)


def _values(text: str, whole: str) -> list[int | float]:
    doubling = _RANGE.fullmatch(text)
    if doubling is not None:
        low, high = int(doubling["low"]), int(doubling["high"])
        if not 0 < low < high:
            raise UsageError(
                f"--scan {whole!r}: the first value must be above zero, and below the last."
            )
        doubled = [low]
        while doubled[-1] * 2 < high:
            doubled.append(doubled[-1] * 2)
        return [*doubled, high]
    numbers = [part.strip() for part in text.split(",")]
    wrong = [part for part in numbers if not _NUMBER.fullmatch(part) or not float(part) > 0]
    if wrong:
        raise UsageError(f"--scan {whole!r}: {wrong[0]!r} is not a number above zero, {EXAMPLE}.")
    return [float(part) if "." in part else int(part) for part in numbers]
