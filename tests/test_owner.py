"""The account that hosts the repository has its name in one variable, and a script sets it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running import run
from waitbench.system.paths import ROOT

SCRIPT = Path("src") / "owner.sh"
OWNER = re.findall(r"^owner=(.+)$", (ROOT / SCRIPT).read_text("utf-8"), re.M)[0]


def mentions(folder: Path, owner: str) -> dict[str, int]:
    """How often each file of a repository names an owner, in an address or as a placeholder."""
    pattern = rf"\b{owner}/waitbench|`{owner}`"
    counts = {
        name: len(re.findall(pattern, (folder / name).read_text("utf-8", "replace")))
        for name in run("git", "ls-files", cwd=folder).stdout.splitlines()
        if (folder / name).is_file()
    }
    return {name: count for name, count in counts.items() if count}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository of the files that name the owner, and the script."""
    for name in {*mentions(ROOT, OWNER), str(SCRIPT)}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for command in (("init", "--quiet"), ("add", ".")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_each_address_of_the_repository_has_the_owner_of_the_script() -> None:
    named = {
        owner
        for name in mentions(ROOT, r"[\w-]+")
        for owner in re.findall(
            r"(?:github\.com/|uses: |repository: )([\w-]+)/waitbench",
            (ROOT / name).read_text("utf-8", "replace"),
        )
    }
    assert named == {OWNER}


def test_the_script_names_the_owner_everywhere_and_again(copy: Path) -> None:
    addresses = sum(mentions(copy, OWNER).values())
    for name, before in (("some-body", OWNER), ("other", "some-body")):
        done = run(copy / SCRIPT, name, cwd=copy)
        assert done.returncode == 0, done.stderr
        assert mentions(copy, before) == {}
        assert f"\nowner={name}\n" in (copy / SCRIPT).read_text("utf-8")
        assert 0 < sum(mentions(copy, name).values()) <= addresses
    assert f"git clone https://github.com/{name}/waitbench" in (copy / "README.md").read_text()
    assert '"OWNER", "MEMBER"' in (copy / "examples" / "github-command.yml").read_text()


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a/b"], ["-a"], ["a b"], ["#"]])
def test_what_is_not_an_account_changes_nothing(arguments: list[str], copy: Path) -> None:
    before = mentions(copy, OWNER)
    done = run(copy / SCRIPT, *arguments, cwd=copy)
    assert (done.returncode, done.stdout) == (2, "")
    assert mentions(copy, OWNER) == before
