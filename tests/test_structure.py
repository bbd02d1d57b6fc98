"""The rooms of the package: what may know what."""

import re
import sys
from pathlib import Path

import pytest

from tests.running import run
from waitbench import engines
from waitbench.system.paths import PACKAGE, ROOT

MODULES = sorted(PACKAGE.rglob("*.py"))
ENGINE_LIST = PACKAGE / "engines" / "__init__.py"
"""The only general module that names an engine."""


def module_id(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_only_its_own_modules_know_an_engine_by_name(path: Path) -> None:
    name = engines.DEFAULT.name
    if path == ENGINE_LIST or module_id(path).startswith(f"engines/{name}"):
        return
    text = path.read_text("utf-8").lower()
    if module_id(path).startswith(("commands/", "features/", "pipeline/")):
        # Examples and help may name it; code may not, as a value or as a module.
        assert not re.search(rf"""["']{name}["']|engines[. ](import )?{name}""", text)
    else:
        assert name not in text


def loaded_by(code: str) -> set[str]:
    """The modules that a new interpreter has loaded then."""
    code = f"import sys; {code}; print(*sys.modules)"
    python = ("env", "-i", f"PYTHONPATH={PACKAGE.parent}", sys.executable)
    done = run(*python, "-c", code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_reading_a_result_file_does_not_load_the_build_system() -> None:
    loaded = loaded_by("from waitbench.store import comparisons")
    rooms = {name.split(".")[1] for name in loaded if name.startswith("waitbench.")}
    assert rooms == {"model", "system", "store"}


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        (
            "import runner; runner.make_app()",
            {"matplotlib", "pandas", "scipy.stats", "dask", "distributed"},
        ),
        ("import waitbench.pipeline.comparing", {"pandas", "scipy", "matplotlib"}),
        (
            "import runner; runner.make_app('scenarios')",
            {"numpy", "waitbench.pipeline", "waitbench.store"},
        ),
    ],
    ids=["help", "measuring", "one command"],
)
def test_nothing_is_loaded_that_is_not_needed(code: str, unneeded: set[str]) -> None:
    assert not loaded_by(code) & unneeded
