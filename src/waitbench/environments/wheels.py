"""Wheels on disk."""

import zipfile
import zlib
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from waitbench.model.environment import Interpreter


def find(folder: Path) -> Path | None:
    """The wheel that a folder has, if it is whole."""
    return next(filter(is_whole, folder.glob("*.whl")), None)


def is_whole(wheel: Path) -> bool:
    """Whether all of a wheel's files can be read."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            has_metadata = any(name.endswith(".dist-info/METADATA") for name in names)
            return has_metadata and archive.testzip() is None
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error):
        return False


def fits(wheel: Path, python: Interpreter) -> bool:
    """Whether a wheel is for a Python, by its name."""
    _, _, _, tags = parse_wheel_filename(wheel.name)
    abis = [python.tag, "abi3", "none"]
    usable = {*cpython_tags(python.minor, abis), *compatible_tags(python.minor, python.tag)}
    return not usable.isdisjoint(tags)
