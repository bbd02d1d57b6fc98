"""The repository that searches are tried on: its commits are what the plan says."""

import subprocess
import sys
import zipfile
from math import isclose
from pathlib import Path

from tests import standin
from tests.bisect_repository import Plan, write
from tests.histories import at
from waitbench import engines
from waitbench.environments import candidates
from waitbench.environments.repository import Repository, export
from waitbench.model.environment import SourceTree
from waitbench.system.places import Cache

PLAN = Plan(
    commits=6, cpu_s=0.2, culprits={2: 0.25, 4: 0.5}, unbuildable=range(3, 4), failing=range(5, 6)
)


def build(repository: Repository, commit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Has a commit's own backend build its wheel, into the sources."""
    folder.mkdir()
    export(SourceTree(repository.folder(), commit), folder)
    code = "import backend; backend.build_wheel('.')"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


def modules(wheel: Path) -> dict[str, bytes]:
    """What a wheel installs, but for what it says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}


def test_the_same_plan_makes_the_same_commits_and_each_is_a_point(
    tmp_path: Path, cache: Cache
) -> None:
    ids = write(tmp_path / "one", PLAN)
    assert write(tmp_path / "other", PLAN) == ids
    repository = Repository(str(tmp_path / "one"), cache)
    found = candidates.commits(engines.named("standin"), repository, at(ids[0]), at(ids[-1]))
    assert [point.source.identity for point in found.points] == ids
    assert repository.find_commit("release-0.0.0") == ids[0]
    dates = [point.commit.date[:16] for point in found.points if point.commit]
    assert dates[1:3] == ["2020-01-01T01:00", "2020-01-01T02:00"]


def test_commits_cost_what_the_plan_says() -> None:
    costs = [PLAN.seconds(number) for number in range(6)]
    assert all(map(isclose, costs, (0.2, 0.2, 0.25, 0.25, 0.375, 0.375)))


def test_a_commit_builds_into_the_stand_in_unless_it_is_made_not_to(
    tmp_path: Path, cache: Cache
) -> None:
    ids = write(tmp_path / "repository", PLAN)
    repository = Repository(str(tmp_path / "repository"), cache)
    for number, behaviour in ((4, "burn 0.375000"), (5, "fail")):
        folder = tmp_path / f"built-{number}"
        assert build(repository, ids[number], folder).returncode == 0
        (folder / "sources" / "standin").mkdir(parents=True)
        (folder / "sources" / "standin" / "number.txt").write_text(f"{number}\n")
        (wheel,) = folder.glob("*.whl")
        assert modules(wheel) == modules(standin.write_wheel(folder, behaviour, "9"))
    broken = build(repository, ids[3], tmp_path / "broken")
    assert (broken.returncode, "made not to build" in broken.stderr) == (1, True)
