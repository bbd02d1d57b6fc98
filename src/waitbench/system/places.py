"""Where things are kept. The only module that knows the folders' names."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent
DATAFLOWS = ROOT / "dataflows"
SERVICES = ROOT / "services"
RESULTS = ROOT / "results"


@dataclass(frozen=True)
class Cache:
    """The folder that git ignores: environments, wheels, tools, logs. Safe to delete at rest."""

    root: Path = ROOT / ".bench"

    def folder(self, name: str) -> Path:
        """The folder ``name`` of the cache, created if it is not there."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def lock_file(self, name: str) -> Path:
        """The lock file that guards ``name``."""
        return self.folder("locks") / f"{name}.lock"
