"""Makes a repository whose commits cost a set share of CPU, for searches to be tried on.

Its commits are of the stand-in, tests/standin.py, and numbered from 0, which is tagged
release-0.0.0. The same costs always make the same commits.
"""

from collections.abc import Sequence
from pathlib import Path

from tests import standin

PYPROJECT = """\
[project]
name = "stand-in"
version = "0.0.1"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = '''\
"""Builds the wheel with nothing but Python, so that a build takes seconds."""
import pathlib, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, info = "stand_in-0.0.1-py3-none-any.whl", "stand_in-0.0.1.dist-info"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as archive:
        for path in sorted(pathlib.Path("standin").iterdir()):
            archive.write(path)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\\nName: stand-in\\nVersion: 0.0.1\\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return name
'''
UNBUILDABLE = 'raise RuntimeError("made not to build")\n'


Costs = Sequence[float | None]
"""CPU seconds that a run of each commit burns; ``None`` where one does not build."""


def write(folder: Path, costs: Costs) -> list[str]:
    """Makes a repository; the ids of its commits, oldest first."""
    standin.write_package(folder)
    standin.git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "pyproject.toml").write_text(PYPROJECT)
    for number, cost_s in enumerate(costs):
        standin.write_package(folder, f"burn {cost_s or 0.0:.6f}")
        (folder / "number.txt").write_text(f"{number}\n")
        (folder / "backend.py").write_text(UNBUILDABLE if cost_s is None else BACKEND)
        standin.git(folder, "add", "--all")
        standin.git(folder, "commit", "--quiet", "--message", f"{number}", hour=number)
    ids = standin.git(folder, "rev-list", "--reverse", "main").split()
    standin.git(folder, "tag", "release-0.0.0", ids[0])
    return ids
