"""Which Pythons a source tree supports that has a Rust part bound by PyO3."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from waitbench.engines import cargo
from waitbench.engines.base import ReadSource
from waitbench.model.environment import Interpreter

NEWEST_PYTHON = {
    (0, 17): (3, 11), (0, 18): (3, 11), (0, 19): (3, 12), (0, 20): (3, 12), (0, 21): (3, 12),
    (0, 22): (3, 13), (0, 23): (3, 13), (0, 24): (3, 13), (0, 25): (3, 14),
}  # fmt: skip
"""The newest CPython minor that each PyO3 builds for: ``SUPPORTED_VERSIONS_CPYTHON`` in its
``pyo3-ffi/build.rs`` (before 0.20: its change log)."""


def supports(python: Interpreter, read: ReadSource) -> bool:
    """Whether ``requires-python`` and the locked PyO3 allow a Python."""
    project = cargo.parse(read("pyproject.toml")).get("project", {})
    try:
        if python.version not in SpecifierSet(str(project.get("requires-python", ""))):
            return False
    except InvalidSpecifier:
        pass  # the build will say so, with its own words
    for package in cargo.parse(read("Cargo.lock")).get("package", []):
        if package.get("name") == "pyo3":
            major, minor = str(package["version"]).split(".")[:2]
            newest = NEWEST_PYTHON.get((int(major), int(minor)))
            return newest is None or python.minor <= newest
    return True
