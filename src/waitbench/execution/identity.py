"""Whether a run has loaded the code of its revision, or what else."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from waitbench.engines.base import Engine
from waitbench.environments import installed
from waitbench.model.environment import Environment


def modules_of(engine: Engine, environment: Environment) -> Sequence[str] | None:
    """The files of its package of which a run should load one; of a program there is none.

    ``None`` of a variant, of which only its worker file knows what it is.
    """
    if engine.variants:
        return None
    package = installed.find_all(environment.folder).get(canonicalize_name(engine.package))
    return installed.modules_of(package) if package else ()


def why_foreign(
    loaded: Sequence[str], modules: Sequence[str], environment: Environment, told: Mapping[str, Any]
) -> str | None:
    """Why a run has not measured its revision; ``None`` if it has, or nobody knows.

    ``loaded`` are the modules in its memory that are called like those of the package.
    """
    places = environment.folder.glob("lib/python*/site-packages")
    own = [file for place in places for name in modules if (file := place / name).exists()]
    roots = set[str]()
    for path in loaded:
        if any(file.samefile(path) for file in own):
            return None
        root = next(path.removesuffix(f"/{name}") for name in modules if path.endswith(f"/{name}"))
        # Else it is a module of another package, which is called alike.
        if not Path(root, "__init__.py").exists():
            roots.add(root)
    if not roots:
        return None
    root, here = min(roots), told["values"]["here"]
    given = {"command": told["command"], "environment": told["environment"].values()}
    why = [
        f"{key!r} names that folder"
        for key, texts in given.items()
        if any(root in text.replace("{here}", here) for text in texts)
    ]
    name = modules[0].partition("/")[0]
    if any(Path(file).name == name for file in told["files"]):
        return f"it loads {name} of 'files', not of its revision: rename that file"
    return (
        f"it loads {name} from {root}, not from the environment of its revision, as "
        f"{next(iter(why), 'Python searches that folder first')}: name the scripts that it needs "
        "in 'files', which copies them elsewhere"
    )
