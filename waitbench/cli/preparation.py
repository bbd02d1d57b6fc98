"""From what the user typed to environments ready to be measured: the part that ``compare`` and ``calibrate`` share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console

from waitbench.cli.progress import PreparationLog
from waitbench.environments import origins, revisions
from waitbench.environments import virtualenvs as environments
from waitbench.environments.index import Index
from waitbench.environments.origins import OriginChoice, Recipe
from waitbench.environments.repository import Repository
from waitbench.environments.virtualenvs import Environment
from waitbench.execution import assets, services
from waitbench.execution.hyperfine import Hyperfine, locate
from waitbench.execution.measure import Measurer
from waitbench.families import selection
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.scenario import TOPOLOGY_KINDS, Scenario, Topology
from waitbench.store.results import Context
from waitbench.system import machine
from waitbench.system.places import Cache


@dataclass(frozen=True)
class Request:
    """What to measure, as typed."""

    revisions: tuple[str, ...]
    scenarios: tuple[str, ...]
    settings: tuple[str, ...]
    topology: str | None
    processes: int
    workers: int
    dataflow: str | None
    origin: OriginChoice
    python: str | None
    repo: str
    results: Path
    time_limit_s: float | None
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """A request that makes sense, resolved; nothing has been built yet."""

    scenarios: tuple[Scenario, ...]
    topology: Topology
    repository: Repository
    recipes: tuple[Recipe, ...]
    cache: Cache


@dataclass(frozen=True)
class Prepared:
    """Everything that measuring takes."""

    checked: Checked
    hyperfine: Hyperfine
    environments: Mapping[str, Environment]
    """By label; without those that could not be made."""
    errors: Mapping[str, HarnessError]
    context: Context
    services_python: Path | None

    def measurer(self, watch: Callable[[int], None], time_limit_s: float | None) -> Measurer:
        """What runs these environments; ``watch`` is told the process group in flight."""
        checked = self.checked
        return Measurer(
            self.hyperfine, self.environments, checked.topology, checked.cache, watch, time_limit_s, self.services_python
        )


def check(request: Request, say: PreparationLog, *, quick: bool) -> Checked:
    """Checks and resolves a request; ``quick`` shortens the scenarios. Raises ``UsageError``; creates nothing but entries of the cache."""
    topology = _topology(request)
    chosen = _scenarios(request, quick=quick)
    if request.time_limit_s is not None and not request.time_limit_s > 0:
        raise UsageError(f"--time-limit {request.time_limit_s:g}: must be above zero.")
    cache = Cache()
    repository = Repository(request.repo, cache, say.about)
    with say:
        named = revisions.resolve(request.revisions, repository)
        recipes = origins.choose(named, request.origin, request.python, repository, Index(cache))
    return Checked(chosen, topology, repository, recipes, cache)


def prepare(checked: Checked, argv: Sequence[str], progress: Console, say: PreparationLog) -> Prepared:
    """Finds or makes hyperfine and the environments; what cannot be made is said at once."""
    with say:
        hyperfine = locate(checked.cache, say.about)
        requirements = sorted({text for scenario in checked.scenarios for text in scenario.family.requirements})
        made = environments.make_all(checked.recipes, checked.repository, checked.cache, say, requirements)
        usable = {label: found for label, found in made.items() if isinstance(found, Environment)}
        if usable:
            assets.make(checked.scenarios, next(iter(usable.values())), checked.cache, say.about)
        needs_services = any(scenario.family.services is not None for scenario in checked.scenarios)
        services_python = services.make_environment(checked.cache, say.about) if needs_services else None
    errors = {label: found for label, found in made.items() if isinstance(found, HarnessError)}
    for label, error in errors.items():
        progress.print(f"{label}: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
    context = Context(
        revisions=tuple(_described(recipe, usable.get(recipe.revision.label)) for recipe in checked.recipes),
        topology=str(checked.topology),
        mixed_origins=origins.is_mixed(checked.recipes),
        hyperfine_version=hyperfine.version,
        machine=machine.describe(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        argv=tuple(argv),
    )
    return Prepared(checked, hyperfine, usable, errors, context, services_python)


def _topology(request: Request) -> Topology:
    for name, number in (("--processes", request.processes), ("--workers", request.workers)):
        if number < 1:
            raise UsageError(f"{name} {number}: at least 1.")
    kind = request.topology or ("single" if request.processes == 1 else "cluster")
    if kind not in TOPOLOGY_KINDS:
        raise UsageError(f"--topology {kind!r} is none of: {', '.join(TOPOLOGY_KINDS)}.")
    if kind == "single" and request.processes > 1:
        raise UsageError("--topology single is one process. For more, leave it out, or say --topology launcher.")
    return Topology(kind, request.processes, request.workers)


def _scenarios(request: Request, *, quick: bool) -> tuple[Scenario, ...]:
    if request.dataflow is None:
        return selection.select(request.scenarios, request.settings, quick=quick)
    if request.settings:
        raise UsageError("--set changes this project's scenarios; parameters of your own dataflow go into its call.")
    own = selection.of_user(request.dataflow)
    return (*(selection.select(request.scenarios, (), quick=quick) if request.scenarios else ()), own)


def _described(recipe: Recipe, environment: Environment | None) -> dict[str, object]:
    named = {"label": recipe.revision.label, "text": recipe.revision.text, "origin": recipe.origin.value}
    if environment is None:
        return {**named, "commit": recipe.commit}
    # Not where the interpreter is: results are shared, and paths of one machine say nothing on another.
    return {**named, **{name: fact for name, fact in asdict(environment.facts).items() if name != "base_executable"}}
