"""The rooms of the package: what may know what."""

import ast
import inspect
import re
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.documents import every_command
from tests.running import run
from tests.test_documents import DOCUMENTS
from waitbench import engines, features
from waitbench.pipeline.extension import extensions
from waitbench.system import files
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


def test_no_two_classes_have_the_same_name() -> None:
    trees = (ast.parse(path.read_text("utf-8")) for path in MODULES)
    nodes = (node for tree in trees for node in ast.walk(tree))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


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
            "import pathlib, tempfile; from waitbench.store import comparisons, frames; "
            "records = comparisons.read(pathlib.Path('docs/samples/waiting')).records; "
            "frames.export(pathlib.Path(tempfile.mkdtemp()), records)",
            {"pandas", "numpy"},
        ),
        (
            "import runner; runner.make_app('scenarios')",
            {"numpy", "waitbench.pipeline", "waitbench.store"},
        ),
    ],
    ids=["help", "measuring", "exports", "one command"],
)
def test_nothing_is_loaded_that_is_not_needed(code: str, unneeded: set[str]) -> None:
    assert not loaded_by(code) & unneeded


FEATURES = sorted(path.parent.name for path in PACKAGE.glob("features/*/__init__.py"))
CODE = {
    path: path.read_text("utf-8")
    for folder in ("src", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if path != PACKAGE / "features" / "__init__.py"
}
INDEXES = {ROOT / "README.md", ROOT / "docs" / "README.md", ROOT / "docs" / "command-line.md"}


def test_entry_points_are_functions_or_modules_of_the_package() -> None:
    content = (ROOT / "pyproject.toml").read_bytes()
    project = files.parse_toml(content, dict[str, Any])["project"]
    for group in (project["scripts"], *project.get("entry-points", {}).values()):
        for place in group.values():
            module, _, function = place.partition(":")
            assert not function or hasattr(import_module(module), function)
            assert find_spec(module), place


def words_of(feature: str) -> re.Pattern[str]:
    """Matches the commands of a feature, and the options that it adds to ``compare``."""
    package = f"waitbench.features.{feature}."
    commands = [name for name, module in features.COMMANDS.items() if module.startswith(package)]
    kinds = [kind for kind in extensions() if kind.__module__.startswith(package)]
    options = [f"--{name}" for kind in kinds for name in inspect.signature(kind).parameters]
    return re.compile(rf"({'|'.join((*(f'waitbench {name}' for name in commands), *options))})\b")


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_is_deleted_with_its_folders_and_its_document(feature: str) -> None:
    """Else only indexes link to its document, and ``features/__init__.py`` has its names."""
    words = words_of(feature)
    called = "|".join(
        name for name, module in features.COMMANDS.items() if f".{feature}." in module
    )
    package = re.compile(rf'features[./]{feature}\b|(said\(|command=)"({called or None})"')
    places = {PACKAGE / "features" / feature, ROOT / "tests" / "features" / feature}
    places.add(ROOT / "benchmarks" / "features" / f"{feature}.py")
    code = {path: text for path, text in CODE.items() if places.isdisjoint((path, *path.parents))}
    assert [path for path, text in code.items() if package.search(text)] == []
    # Another feature may have an option of the same name.
    core = {path: text for path, text in code.items() if "features" not in path.parts}
    assert [path for path, text in core.items() if words.search(text)] == []
    commands = every_command().items()
    (name,) = {path for command, paths in commands if words.search(command) for path in paths}
    links = re.compile(rf"\]\([^)]*\b{Path(name).name}[)#]")
    documents = {path: path.read_text("utf-8") for path in DOCUMENTS if path != ROOT / name}
    assert {path for path, text in documents.items() if links.search(text)} <= INDEXES
