"""Which pinned packages a wheel lets stand beside it."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError


def accepted(pins: Sequence[str], wheel: Path, python: Interpreter) -> tuple[str, ...]:
    """Those of ``pins``, such as ``httpx==0.27.2``, that are not against what the wheel asks for.

    Of a package that it asks for in another version, it gets what it asks for. Raises
    ``HarnessError`` for what is not a wheel.
    """
    try:
        asked = _asked_for(wheel, python) if pins else []
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise HarnessError(f"{wheel.name} is not a readable wheel: {error}") from error
    return tuple(
        pin for pin in pins if not any(_is_against(Requirement(pin), one) for one in asked)
    )


def _asked_for(wheel: Path, python: Interpreter) -> list[Requirement]:
    """What it cannot be without, on this Python."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [path for path in archive.namelist() if path.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(name), validate=False)
    here = {
        "extra": "",
        "python_version": python.minor_text,
        "python_full_version": python.version,
    }
    return [
        one
        for one in metadata.requires_dist or ()
        if one.marker is None or one.marker.evaluate(here)
    ]


def _is_against(pin: Requirement, asked: Requirement) -> bool:
    (version,) = (specifier.version for specifier in pin.specifier)
    return canonicalize_name(pin.name) == canonicalize_name(
        asked.name
    ) and not asked.specifier.contains(version, prereleases=True)
