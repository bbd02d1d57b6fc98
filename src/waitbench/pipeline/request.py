"""Validates the arguments of a command that measures. Nothing is built yet."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from waitbench import engines
from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines import selection
from waitbench.engines.base import Engine
from waitbench.engines.worker import WorkerFileEngine
from waitbench.environments import revisions
from waitbench.environments.origins import OriginResolver
from waitbench.environments.repository import Repository
from waitbench.model.errors import UsageError, hint
from waitbench.model.metrics import BY_NAME, SYSTEM_CALLS, Instruments
from waitbench.model.record import Shard
from waitbench.model.revision import EnvironmentSpec, OriginChoice
from waitbench.model.scenario import Scenario, Topology
from waitbench.model.worker import WorkerFile
from waitbench.pipeline.extension import Extension, Select
from waitbench.pipeline.gating import Gate
from waitbench.reporting.output import Log
from waitbench.system.machine import find_instruments
from waitbench.system.paths import RESULTS, Cache


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments of a command that measures, as typed."""

    revisions: tuple[str | EnvironmentSpec, ...]
    scenarios: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    topology: str | None = None
    processes: int = 1
    workers: int = 1
    worker: WorkerFile | None = None
    origin: OriginChoice = "auto"
    """Where the code of revisions comes from, such as a wheel, or source that is built here."""
    python: str | None = None
    repo: str | None = None
    time_limit_s: float | None = None
    gate: Gate = field(default_factory=Gate)
    rounds: int = 5
    """The number of rounds without a gate, which decides by itself when to stop."""
    quick: bool = False
    """Whether scenarios are replaced by their shorter variants, as for a gate."""
    extensions: tuple[Extension, ...] = ()
    results: Path | None = None
    store: Path = RESULTS
    """The folder in which a new folder of results is made."""
    resume: bool | None = False
    """Whether an interrupted comparison continues; ``None`` if the command has no such option."""
    argv: tuple[str, ...]
    """The arguments as typed, with secrets masked."""

    @cached_property
    def engine(self) -> Engine:
        return engines.DEFAULT if self.worker is None else WorkerFileEngine(self.worker)

    @property
    def survey_option(self) -> str | None:
        """The option, if any, that asks for no verdict: see ``Extension.survey_option``."""
        return next(filter(None, (extension.survey_option for extension in self.extensions)), None)


@dataclass(frozen=True, kw_only=True)
class ValidRequest:
    """A request whose revisions, scenarios and topology are resolved."""

    request: Request
    scenarios: tuple[Scenario, ...]
    shard: Shard | None
    """The scenarios that this machine measures; ``None``: all."""
    topology: Topology
    gate: Gate
    """The gate, without the default criteria that cannot be measured here."""
    repository: Repository | None
    specs: tuple[EnvironmentSpec, ...]
    cache: Cache
    instruments: Instruments

    @property
    def engine(self) -> Engine:
        return self.request.engine

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(spec.label for spec in self.specs)

    @property
    def scenarios_here(self) -> tuple[Scenario, ...]:
        if self.shard is None:
            return self.scenarios
        return tuple(it for it in self.scenarios if it.name in self.shard.scenarios)


def validate(request: Request, say: Log) -> ValidRequest:
    """Validates and resolves a request.

    Raises ``UsageError``; creates nothing but entries of the cache.
    """
    request.gate.require_possible(len(request.revisions))
    engine = request.engine
    topology = topology_of(request)
    scenarios = _scenarios(request)
    shards = (extension.shard_of(request, scenarios) for extension in request.extensions)
    instruments = find_instruments()
    _require_metrics(request, scenarios, instruments)
    cache = Cache()
    url = request.repo or engine.repository
    repository = Repository(url, cache, say.about) if url else None
    resolved = revisions.resolve(request.revisions, engine, repository)
    resolver = OriginResolver(engine, repository, cache, say.about)
    specs = resolver.choose(resolved, request.origin, request.python)
    return ValidRequest(
        request=request,
        scenarios=scenarios,
        shard=next(filter(None, shards), None),
        topology=topology,
        gate=request.gate.supported_by(instruments, scenarios),
        repository=repository,
        specs=specs,
        cache=cache,
        instruments=instruments,
    )


def topology_of(request: Request) -> Topology:
    """Makes the topology of a request. Raises ``UsageError`` if the engine does not have it."""
    engine = request.engine
    kind = request.topology or ("single" if request.processes == 1 else "cluster")
    if kind not in engine.topologies:
        there = hint(kind, engine.topologies)
        raise UsageError(f"--topology {kind!r} is not a topology of {engine.name}{there}.")
    if engine.most_workers is not None and request.workers > engine.most_workers:
        raise UsageError(
            f"--workers {request.workers}: {engine.name} has {engine.most_workers} at most."
        )
    if kind == "single" and request.processes > 1:
        raise UsageError("--topology single is one process. For more, leave it out.")
    return Topology(kind, request.processes, request.workers)


def _require_metrics(
    request: Request, scenarios: Sequence[Scenario], instruments: Instruments
) -> None:
    """Raises ``UsageError`` for a metric that no scenario has, or this machine cannot measure."""
    possible = {metric.key: metric.name for scenario in scenarios for metric in scenario.metrics}
    lacking = sorted(request.gate.needs - set(possible))
    if lacking:
        known = {metric.key: metric.name for metric in BY_NAME.values()}
        name = known.get(lacking[0], lacking[0])
        raise UsageError(
            f"{name}: no run of {', '.join(it.name for it in scenarios)} measures it. "
            f"There are: {', '.join(dict.fromkeys(possible.values()))}."
        )
    if SYSTEM_CALLS in request.gate.needs - instruments.keys:
        raise UsageError(
            f"System calls cannot be counted here: {instruments.reason}. This would fix it: "
            f"{instruments.remedy}"
        )


def _scenarios(request: Request) -> tuple[Scenario, ...]:
    """Selects scenarios, by the extensions of the request. Raises ``UsageError``."""
    select: Select = _select
    for extension in request.extensions:
        select = partial(extension.scenarios, select=select)
    return select(request)


def _select(request: Request) -> tuple[Scenario, ...]:
    chosen = selection.select(
        request.scenarios,
        request.settings,
        worker=request.worker,
        quick=request.quick,
        # For some of the default criteria, scenarios are added.
        for_gate=any(criterion in DEFAULTS for criterion in request.gate.criteria),
    )
    if not request.scenarios:
        # A scenario may have a topology that the engine does not have.
        kinds = (None, *request.engine.topologies)
        chosen = tuple(it for it in chosen if (it.topology and it.topology.kind) in kinds)
    return chosen
