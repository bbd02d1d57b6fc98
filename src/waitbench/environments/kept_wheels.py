"""Wheels in the cache: each with its digest beside it, so that a damaged one is noticed."""

import hashlib
from pathlib import Path

from waitbench.system import files


def find(folder: Path) -> Path | None:
    """The wheel that a folder keeps, if it is what was put there; a damaged one is removed."""
    for wheel in sorted(folder.glob("*.whl")):
        digest_file = _digest_file(wheel)
        if digest_file.is_file() and digest_file.read_text("ascii", "replace") == _digest(wheel):
            return wheel
        wheel.unlink(missing_ok=True)
        digest_file.unlink(missing_ok=True)
    return None


def keep(wheel: Path, folder: Path) -> Path:
    """Moves a wheel into a folder, the digest first. Raises ``HarnessError``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / wheel.name
    files.write_text(_digest_file(kept), _digest(wheel))
    return wheel.replace(kept)


def _digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def _digest_file(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.sha256")
