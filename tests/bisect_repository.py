"""Makes a repository whose commits cost a set share of CPU, for searches to be tried on.

Its commits are of the stand-in, tests/standin.py, and numbered from 0, which is tagged
release-0.0.0. The same plan always makes the same commits.
"""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import standin

FIRST_SECOND = 1_577_836_800
"""2020-01-01, in UTC; each commit is an hour younger than the one before."""
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


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the commits of a repository are."""

    commits: int = 64
    cpu_s: float = 0.2
    """What a run burns."""
    culprits: Mapping[int, float] = field(default_factory=dict)
    """Rise of the cost, as a share of what it was, by the number of the commit."""
    unbuildable: range = range(0)

    def seconds(self, number: int) -> float:
        """CPU seconds of a run of a commit."""
        cost = self.cpu_s
        for culprit, rise in self.culprits.items():
            cost *= 1 + rise if culprit <= number else 1
        return cost

    def subject(self, number: int) -> str:
        """The subject of a commit."""
        if number in self.unbuildable:
            return f"Commit {number}, which does not build"
        return f"Commit {number}"


def write(folder: Path, plan: Plan) -> list[str]:
    """Makes a bare repository; the ids of its commits, oldest first."""
    folder.mkdir(parents=True)
    standin.git(folder, "init", "--quiet", "--bare", "--initial-branch", "main")
    stream = b"".join(part for number in range(plan.commits) for part in _commit(plan, number))
    # One process instead of three a commit.
    importing = ["git", "-C", str(folder), "fast-import", "--quiet"]
    subprocess.run(importing, input=stream, check=True)
    ids = standin.git(folder, "rev-list", "--reverse", "main").split()
    standin.git(folder, "tag", "release-0.0.0", ids[0])
    return ids


def _commit(plan: Plan, number: int) -> Iterator[bytes]:
    """A commit, as git fast-import takes it."""
    when = f"A <a@example.org> {FIRST_SECOND + 3600 * number} +0000"
    yield f"commit refs/heads/main\nauthor {when}\ncommitter {when}\n".encode()
    yield _data(plan.subject(number).encode())
    for path, content in _files(plan, number).items():
        yield f"M 100644 inline {path}\n".encode() + _data(content)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _files(plan: Plan, number: int) -> dict[str, bytes]:
    """All files of a commit."""
    with TemporaryDirectory() as name:
        standin.write_package(Path(name), f"burn {plan.seconds(number):.6f}")
        package = Path(name) / "standin"
        files = {f"standin/{path.name}": path.read_bytes() for path in package.iterdir()}
    return {
        **files,
        "standin/number.txt": f"{number}\n".encode(),
        "pyproject.toml": PYPROJECT.encode(),
        "backend.py": (UNBUILDABLE if number in plan.unbuildable else BACKEND).encode(),
    }
