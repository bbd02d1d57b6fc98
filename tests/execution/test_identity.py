"""Whether what a run has loaded is its revision's, by where it lies."""

from pathlib import Path

import pytest

from tests.records import facts
from waitbench.engines.worker import worker_config
from waitbench.execution.identity import why_from_elsewhere
from waitbench.model.conditions import Elapsed, Port, Words
from waitbench.model.launch import WorkerConfig
from waitbench.model.revision import Environment
from waitbench.model.worker import WorkerFile

NAMES = ["tool/__init__.py", "tool_helper.py", "tests/__init__.py"]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made_environment = Environment(tmp_path / "environment", facts())
    for name in NAMES:
        made(tmp_path / "environment/lib/python3.11/site-packages", name)
    return made_environment


def made(folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def worker(folder: Path, file: str = "") -> WorkerConfig:
    text = WorkerFile(
        name="mine", command=Words(["tool"]), files=(file,), ready=Port(value=True),
        settled=Elapsed(1), path=folder / "mine.toml", sha256="",
    )  # fmt: skip
    return worker_config(text, {}, Path())


def test_code_of_another_folder_is_none_of_the_revision(
    environment: Environment, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    reason = why_from_elsewhere([made(tree, NAMES[0])], NAMES, environment, worker(tree))
    assert reason is not None
    assert reason.startswith(f"it loads tool from {tree}, not from the environment of its revision")
    assert "'files'" in reason


def test_a_file_beside_the_worker_may_hide_the_revision(
    environment: Environment, tmp_path: Path
) -> None:
    loaded = [made(tmp_path / "work", "tool_helper.py")]
    given = worker(tmp_path, file=f"{tmp_path}/tool_helper.py")
    why = why_from_elsewhere(loaded, ["tool_helper.py"], environment, given)
    assert why == "it loads tool_helper.py of 'files', not of its revision: rename that file"


def test_what_is_loaded_from_the_environment_too_is_the_revision(
    environment: Environment, tmp_path: Path
) -> None:
    """Such as one of several packages, however their folder is called."""
    link = tmp_path / "link"
    link.symlink_to(environment.folder)
    module = made(link / "lib/python3.11/site-packages", NAMES[0])
    loaded = [module, made(tmp_path / "tree", NAMES[2])]
    assert why_from_elsewhere(loaded, NAMES, environment, worker(tmp_path / "tree")) is None


def test_a_module_of_another_package_that_is_called_alike_is_nothing_to_say(
    environment: Environment, tmp_path: Path
) -> None:
    made(tmp_path / "site/kombu", "__init__.py")
    loaded = [made(tmp_path / "site/kombu", NAMES[1])]
    assert why_from_elsewhere(loaded, NAMES, environment, worker(tmp_path)) is None
    assert why_from_elsewhere([], NAMES, environment, worker(tmp_path)) is None
