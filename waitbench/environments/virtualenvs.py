"""Recipes -> Environments: a virtualenv with one bytewax in it, cached by all that determines it."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from waitbench.environments.builds import Toolchain, build_wheel
from waitbench.environments.origins import Origin, Recipe
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import PACKAGE
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache
from waitbench.system.processes import kill_all, run_logged

_LAYOUT = "2"
"""Of ``environment.json``; another one makes environments of before unknown."""

_EXTENSION_SUFFIXES = (".so", ".pyd", ".dylib")


@dataclass(frozen=True)
class Facts:
    """What is known of an environment, kept in it as ``environment.json``, written last."""

    origin: str
    commit: str | None
    python: str
    """Version of the interpreter."""
    base_executable: str
    package_version: str
    """As the package says; builds between two releases all carry the earlier one's."""
    extensions: dict[str, str]
    """SHA-256 of each compiled extension, by its path in the package."""
    package_sha256: str
    """Over all files of the package, compiled or not."""
    requirements: list[str]
    """``pip freeze``: what else is installed."""
    compiler: str | None
    """Of builds made here."""
    launcher_module: str
    """The module whose ``-p N`` starts a local cluster: it moved from ``bytewax.run`` to ``bytewax.testing``."""
    supports_next_awake: bool
    """Whether a source may say when to be asked next."""


@dataclass(frozen=True)
class Environment:
    """A virtualenv with one revision installed."""

    folder: Path
    facts: Facts

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def make_all(
    recipes: Sequence[Recipe],
    repository: Repository,
    cache: Cache,
    say: Callable[[str, str], None],
    requirements: Sequence[str] = (),
) -> dict[str, Environment | HarnessError]:
    """An environment, or the reason why there is none, by label. ``say(label, what)`` is told of each step.

    ``requirements`` are packages that the workloads need besides bytewax, pinned; an environment with other ones is another
    environment. Downloads and installations run side by side; compilations wait for one another.
    """
    built_here = any(recipe.origin in (Origin.SOURCE, Origin.CHECKOUT) for recipe in recipes)
    toolchain = Toolchain.here() if built_here else None

    def attempt(recipe: Recipe) -> Environment | HarnessError:
        label = recipe.revision.label
        try:
            return _make(recipe, toolchain, requirements, repository, cache, lambda what: say(label, what))
        except HarnessError as error:
            return error

    with ThreadPoolExecutor(max_workers=4) as pool:
        try:
            made = list(pool.map(attempt, recipes))
        except BaseException:
            # Ctrl-C reaches this thread only: the others wait for compilers that would go on for minutes.
            pool.shutdown(wait=False, cancel_futures=True)
            kill_all()
            raise
    return {recipe.revision.label: result for recipe, result in zip(recipes, made, strict=True)}


def _make(
    recipe: Recipe,
    toolchain: Toolchain | None,
    requirements: Sequence[str],
    repository: Repository,
    cache: Cache,
    say: Callable[[str], None],
) -> Environment:
    key = _key(recipe, toolchain, requirements)
    folder = cache.folder("environments") / key
    facts_file = folder / "environment.json"
    with FileLock(cache.lock_file(f"environment-{key}")):
        if facts_file.exists():
            return Environment(folder, _read_facts(facts_file))
        # No environment.json: never begun, or interrupted half-way.
        shutil.rmtree(folder, ignore_errors=True)
        log = cache.folder("logs") / f"{key}.log"
        log.unlink(missing_ok=True)
        wheel = recipe.wheel
        if wheel is None:
            assert toolchain is not None, "what has no wheel is built here"
            wheel = build_wheel(recipe, toolchain, repository, cache, log, say)
        say("installing")
        run_logged([sys.executable, "-m", "virtualenv", "--python", recipe.python.executable, str(folder)], log)
        environment_python = str(folder / "bin" / "python")
        run_logged([environment_python, "-m", "pip", "install", "--no-input", str(wheel), *requirements], log)
        run_logged([environment_python, "-I", "-c", f"import {PACKAGE}.run, {PACKAGE}.dataflow"], log)
        facts = _look(folder, recipe, toolchain)
        partial = facts_file.with_suffix(".part")
        partial.write_text(json.dumps(asdict(facts), indent=1))
        partial.replace(facts_file)
        return Environment(folder, facts)


def _key(recipe: Recipe, toolchain: Toolchain | None, requirements: Sequence[str]) -> str:
    what = [_LAYOUT, recipe.origin.value, recipe.python.executable, recipe.python.version]
    if recipe.wheel is not None:
        what.append(hashlib.sha256(recipe.wheel.read_bytes()).hexdigest())
    else:
        what += [recipe.commit or "", recipe.revision.source.identity, repr(toolchain)]
    what += sorted(requirements)
    minor = recipe.python.minor_text.replace(".", "")
    digest = hashlib.sha256("\0".join(what).encode()).hexdigest()
    return f"cp{minor}-{digest[:16]}"


def _read_facts(path: Path) -> Facts:
    return Facts(**json.loads(path.read_text()))


def _look(folder: Path, recipe: Recipe, toolchain: Toolchain | None) -> Facts:
    package = next(folder.glob(f"lib/python*/site-packages/{PACKAGE}"), None)
    if package is None:
        raise HarnessError(f"{recipe.revision.label} installed no package {PACKAGE}.")
    digests = {
        str(path.relative_to(package)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(package.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    installed = sorted(path.stem for path in package.parent.glob("*.dist-info"))
    version = next(name for name in installed if name.startswith(f"{PACKAGE}-")).split("-")[1]
    run_module, inputs_module = (_text(package / name) for name in ("run.py", "inputs.py"))
    return Facts(
        origin=recipe.origin.value,
        commit=recipe.commit,
        python=recipe.python.version,
        base_executable=recipe.python.executable,
        package_version=version,
        extensions={name: digest for name, digest in digests.items() if name.endswith(_EXTENSION_SUFFIXES)},
        package_sha256=hashlib.sha256(json.dumps(digests).encode()).hexdigest(),
        requirements=[name.replace("-", "==", 1) for name in installed if not name.startswith("pip-")],
        compiler=toolchain.rustc if toolchain and recipe.wheel is None else None,
        launcher_module=f"{PACKAGE}.run" if '"--processes"' in run_module else f"{PACKAGE}.testing",
        supports_next_awake="def next_awake" in inputs_module,
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
