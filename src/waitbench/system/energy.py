"""Energy of the machine's processors, as RAPL counts it: the powercap files of the kernel.

A folder of ``/sys/class/powercap`` for each package (``intel-rapl:0``, also on AMD) has its
``name``, ``energy_uj``, a counter in microjoules, and ``max_energy_range_uj``, after which that
begins at 0 again. Folders within a package (``intel-rapl:0:0``: cores, memory), that of the whole
platform (``psys``) and the second way to the same counters (``intel-rapl-mmio:0``) would count
twice. Since Linux 5.10 only root may read the counter.

It is of the whole machine, whoever uses it. What it shows at rest is subtracted; nothing is
estimated where it cannot be read.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"intel-rapl:\d+")
_MOST_WATTS = 500.0
"""Of a package: what takes so long that this could make a counter wrap twice is not told."""
_AT_REST_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Package:
    """One package's counter."""

    file: Path
    name: str
    """Such as ``package-0``."""
    range_uj: int
    """After which it begins at 0 again."""


@dataclass(frozen=True, kw_only=True)
class EnergyReading:
    """All counters at one moment."""

    at_s: float
    """On the monotonic clock."""
    microjoules: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class EnergyMeter:
    """What tells this machine's energy, or why nothing does."""

    packages: tuple[Package, ...] = ()
    at_rest_w: float | None = None
    """What the machine drew before anything was measured."""
    reason: str = ""
    """Why there is no figure."""
    remedy: str = ""
    """The command that would mend that."""

    @classmethod
    def find(cls, root: Path = POWERCAP) -> "EnergyMeter":
        """The packages whose counters can be read; none of them, if any cannot."""
        folders = sorted(one for one in _listed(root) if _PACKAGE.fullmatch(one.name))
        if not folders:
            return cls(reason=f"{root} has no RAPL counters; a virtual machine is given none")
        packages = []
        for folder in folders:
            try:
                name = (folder / "name").read_text().strip()
                if not name.startswith("package-"):
                    continue
                range_uj = int((folder / "max_energy_range_uj").read_text())
                package = Package(file=folder / "energy_uj", name=name, range_uj=range_uj)
                _counter(package)
            except PermissionError:
                pattern = root / "intel-rapl:*" / "energy_uj"
                return cls(
                    reason="only root may read the counters", remedy=f"sudo chmod o+r {pattern}"
                )
            except (OSError, ValueError) as error:
                return cls(reason=f"{folder} cannot be read: {error}")
            packages.append(package)
        if not packages:
            return cls(reason=f"none of the counters in {root} is of a package")
        return cls(packages=tuple(packages))

    def rested(self, seconds: float = _AT_REST_S) -> "EnergyMeter":
        """The same, with what the machine draws while nothing is measured; itself without any."""
        begun = self.read()
        if begun is None:
            return self
        time.sleep(seconds)
        ended = self.read()
        joules = self.joules(begun, ended)
        if joules is None or ended is None:
            return EnergyMeter(reason="the counters are gone")
        watts = joules / (ended.at_s - begun.at_s)
        return EnergyMeter(packages=self.packages, at_rest_w=watts)

    def read(self) -> EnergyReading | None:
        """All counters now; ``None`` where there are none, or none any more."""
        if not self.packages:
            return None
        try:
            counted = tuple(map(_counter, self.packages))
        except (OSError, ValueError):
            return None
        return EnergyReading(at_s=time.monotonic(), microjoules=counted)

    def joules(self, before: EnergyReading | None, after: EnergyReading | None) -> float | None:
        """What all packages used between two readings; ``None`` where that cannot be told."""
        if before is None or after is None:
            return None
        shortest_s = min(one.range_uj for one in self.packages) / 1e6 / _MOST_WATTS
        if after.at_s - before.at_s > shortest_s:
            return None
        return _total_uj(self.packages, before.microjoules, after.microjoules) / 1e6

    def observed(
        self, before: EnergyReading | None, after: EnergyReading | None
    ) -> dict[str, float]:
        """Metrics of what lay between two readings, by key; empty where nothing is known."""
        joules = self.joules(before, after)
        if joules is None or before is None or after is None or after.at_s <= before.at_s:
            return {}
        found = {"machine_energy": joules}
        if self.at_rest_w is not None:
            found["machine_power"] = joules / (after.at_s - before.at_s) - self.at_rest_w
        return found


NOTHING_TELLS = EnergyMeter()
"""Where energy is not asked for."""


def _total_uj(packages: Sequence[Package], before: Sequence[int], after: Sequence[int]) -> int:
    return sum(
        then - now if then >= now else then - now + package.range_uj
        for package, now, then in zip(packages, before, after, strict=True)
    )


def _counter(package: Package) -> int:
    return int(package.file.read_text())


def _listed(root: Path) -> list[Path]:
    try:
        return list(root.iterdir())
    except OSError:
        return []
