"""Checks that a run has loaded the code of its revision."""

from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from waitbench.engines.base import Engine
from waitbench.environments import packages
from waitbench.model.launch import WorkerConfig
from waitbench.model.revision import Environment


def modules_of(engine: Engine, environment: Environment) -> Sequence[str] | None:
    """Returns files of which a run should load one; ``None`` for variants, none for programs."""
    if engine.variants:
        return None
    package = packages.installed(environment.folder).get(canonicalize_name(engine.package))
    return packages.modules_of(package) if package else ()


def why_from_elsewhere(
    loaded: Sequence[str],
    modules: Sequence[str],
    environment: Environment,
    worker: WorkerConfig,
) -> str | None:
    """Says why a run has not measured its revision, if that is certain.

    ``loaded`` has the modules in its memory whose names are those of the package's.
    """
    places = environment.folder.glob("lib/python*/site-packages")
    expected = [file for place in places for name in modules if (file := place / name).exists()]
    roots = set[str]()
    for path in loaded:
        if any(file.samefile(path) for file in expected):
            return None
        root = next(path.removesuffix(f"/{name}") for name in modules if path.endswith(f"/{name}"))
        # Otherwise it is a module of another package with the same name.
        if not Path(root, "__init__.py").exists():
            roots.add(root)
    if not roots:
        return None
    name = modules[0].partition("/")[0]
    if any(Path(file).name == name for file in worker.files):
        return f"it loads {name} of 'files', not of its revision: rename that file"
    return (
        f"it loads {name} from {min(roots)}, not from the environment of its revision: name the "
        "scripts that it needs in 'files', which copies them elsewhere, and that folder neither in "
        "'command' nor in 'environment'"
    )
