"""Wheels on disk."""

import zipfile
import zlib
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from waitbench.model.revision import Interpreter


def find(folder: Path) -> Path | None:
    return next(filter(is_whole, folder.glob("*.whl")), None)


def is_whole(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            has_metadata = any(name.endswith(".dist-info/METADATA") for name in names)
            return has_metadata and archive.testzip() is None
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error):
        return False


def fits(wheel: Path, python: Interpreter) -> bool:
    _, _, _, tags = parse_wheel_filename(wheel.name)
    abis = [python.tag, "abi3", "none"]
    usable = {*cpython_tags(python.minor, abis), *compatible_tags(python.minor, python.tag)}
    return not usable.isdisjoint(tags)
