"""The rooms of the package: what may know what."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from waitbench import engines
from waitbench.system.places import PACKAGE, ROOT

MODULES = sorted(PACKAGE.rglob("*.py"))
ENGINE_LIST = PACKAGE / "engines" / "__init__.py"
"""The only general module that names an engine."""


def words_of(path: Path) -> Iterator[str]:
    """Every identifier, string and comment of a module, in lower case."""
    yield path.read_text("utf-8").lower()


def module_id(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_only_its_own_modules_know_an_engine_by_name(path: Path) -> None:
    name = engines.DEFAULT.name
    if path == ENGINE_LIST or module_id(path).startswith(f"engines/{name}"):
        return
    text = "\n".join(without_help(path) if is_of_the_command_line(path) else words_of(path))
    assert name not in text


def is_of_the_command_line(path: Path) -> bool:
    return path.relative_to(PACKAGE).parts[0] in ("commands", "cluster", "pipeline")


def without_help(path: Path) -> Iterator[str]:
    """What a module of the command line says outside its examples and its options' help."""
    tree = ast.parse(path.read_text("utf-8"))
    help_texts = {
        id(part)
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and node.arg in ("help", "show_default"))
        or (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "EXAMPLES"
        )
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in help_texts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.lower()
        elif isinstance(node, ast.Name):
            yield node.id.lower()
        elif isinstance(node, (ast.Attribute, ast.alias)):
            yield (node.attr if isinstance(node, ast.Attribute) else node.name).lower()


def test_reading_a_result_file_does_not_load_the_build_system() -> None:
    code = (
        "import sys; from waitbench.store import comparisons;"
        "print(*sorted(name for name in sys.modules if name.startswith('waitbench.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert rooms == {"model", "system", "store"}


def test_the_help_of_a_command_loads_no_drawing() -> None:
    code = "import sys; import runner; runner.make_app(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"matplotlib", "pandas", "scipy.stats", "dask", "distributed"}


def test_what_measures_has_loaded_no_pandas_and_no_scipy() -> None:
    code = "import sys; import waitbench.pipeline.comparing; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(PACKAGE.parent)},
    )  # fmt: skip
    assert not set(done.stdout.split()) & {"pandas", "scipy", "matplotlib"}


def test_starting_one_command_loads_what_that_one_takes() -> None:
    code = "import sys; import runner; runner.make_app('scenarios'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "waitbench.pipeline", "waitbench.store"}
