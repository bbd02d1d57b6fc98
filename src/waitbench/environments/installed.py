"""What an environment has installed, as its installer recorded it."""

from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name


def find_all(folder: Path) -> Mapping[str, Distribution]:
    """All that an environment has, by normalised names: no package has two."""
    places = [str(path) for path in folder.glob("lib/python*/site-packages")]
    return {canonicalize_name(one.metadata["Name"]): one for one in distributions(path=places)}
