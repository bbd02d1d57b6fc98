r"""Makes a repository whose commits cost a set share of CPU, for searches to be tried on.

    .bench/venv/bin/python benchmarks/bisect_repository.py FOLDER [--commits 64] [--cpu 0.2] \
        [--culprit NUMBER:RISE …] [--unbuildable FIRST-LAST] [--failing FIRST-LAST]

Its commits are of the stand-in, tests/standin.py, and numbered from 0, which is tagged
release-0.0.0. Each changes the package; a run of it burns ``--cpu`` seconds, times 1 + RISE from a
culprit on. Commits in a range that is unbuildable or failing do not build, or build and do not
run. The same options always make the same commits. Prints what each is: number, id, seconds,
subject. Two of them compare so:

    .bench/venv/bin/python tests/runner_with_standin.py compare standin@ID standin@ID \
        --repo FOLDER -s dynamic
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import command_line
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
    culprits: Mapping[int, float] = field(default_factory=dict)
    """Rise of the cost, as a share of what it was, by the number of the commit."""
    unbuildable: range = range(0)
    failing: range = range(0)

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
        if number in self.failing:
            return f"Commit {number}, which does not run"
        return f"Commit {number}"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--cpu", type=float, default=0.2, metavar="SECONDS")
    parser.add_argument("--culprit", type=culprit, action="append", default=[])
    parser.add_argument("--unbuildable", type=numbers, default=range(0), metavar="FIRST-LAST")
    parser.add_argument("--failing", type=numbers, default=range(0), metavar="FIRST-LAST")
    options = parser.parse_args()
    if options.folder.exists():
        parser.error(f"{options.folder} is there already.")
    plan = Plan(
        commits=options.commits,
        cpu_s=options.cpu,
        culprits=dict(options.culprit),
        unbuildable=options.unbuildable,
        failing=options.failing,
    )
    for number, commit in enumerate(write(options.folder, plan)):
        print(f"{number}\t{commit}\t{plan.seconds(number):.4f}\t{plan.subject(number)}")


def culprit(text: str) -> tuple[int, float]:
    """``20:0.25`` as the number of a commit, and by which share it costs more."""
    number, _, rise = text.partition(":")
    return int(number), float(rise)


def numbers(text: str) -> range:
    """``28-33``, both included."""
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    if found is None:
        raise ValueError(text)
    return range(int(found[1]), int(found[2]) + 1)


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
    is_failing = number in plan.failing
    behaviour = "fail" if is_failing else f"burn {plan.seconds(number):.6f}"
    with TemporaryDirectory() as name:
        standin.write_package(Path(name), behaviour)
        package = Path(name) / "standin"
        files = {f"standin/{path.name}": path.read_bytes() for path in package.iterdir()}
    return {
        **files,
        "standin/number.txt": f"{number}\n".encode(),
        "pyproject.toml": PYPROJECT.encode(),
        "backend.py": (UNBUILDABLE if number in plan.unbuildable else BACKEND).encode(),
    }


if __name__ == "__main__":
    main()
