"""Checks that a run has loaded the code of its revision."""

from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from waitbench.engines.base import Engine
from waitbench.environments import packages
from waitbench.model.launch import WorkerConfig
from waitbench.model.revision import Environment


def expected_modules(engine: Engine, environment: Environment) -> Sequence[str] | None:
    """Returns files, of which a run loads at least one; ``None`` for variants, () for programs."""
    if engine.variants:
        return None
    package = packages.installed(environment.folder).get(canonicalize_name(engine.package))
    return packages.modules_of(package) if package else ()


def why_from_elsewhere(
    loaded: Sequence[str], modules: Sequence[str], environment: Environment, worker: WorkerConfig
) -> str | None:
    """Returns the reason why a run has not measured its revision, if that is certain.

    ``loaded`` are the module files in its memory whose paths end with one of ``modules``.
    """
    places = environment.folder.glob("lib/python*/site-packages")
    expected = [file for place in places for name in modules if (file := place / name).exists()]
    roots = set[str]()
    for path in loaded:
        if any(file.samefile(path) for file in expected):
            return None
        root = next(path.removesuffix(f"/{name}") for name in modules if path.endswith(f"/{name}"))
        # A root that is itself a package contains another module of the same name.
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
