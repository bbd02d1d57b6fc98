"""What the user typed -> a Request, validated and resolved. Nothing is built yet."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.engines.base import Engine
from waitbench.environments import revisions
from waitbench.environments.origins import Chooser
from waitbench.environments.repository import Repository
from waitbench.families import METRICS, selection
from waitbench.model.environment import EnvironmentSpec, OriginChoice
from waitbench.model.errors import UsageError
from waitbench.model.instruments import Instruments
from waitbench.model.metrics import SYSTEM_CALLS
from waitbench.model.scenario import Scenario, Topology
from waitbench.reporting.progress import PreparationLog
from waitbench.system import variables
from waitbench.system.instruments import find_instruments, find_system_calls
from waitbench.system.places import Cache

_LONGEST_S = 1e6


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to measure, as typed."""

    revisions: tuple[str, ...]
    scenarios: tuple[str, ...]
    settings: tuple[str, ...]
    topology: str | None
    processes: int
    workers: int
    dataflow: str | None = None
    origin: OriginChoice
    python: str | None
    repo: str | None
    time_limit_s: float | None
    instrumented: bool = True
    """Whether to make instrumented runs too, where this machine allows any instrument."""
    required_metrics: frozenset[str] = frozenset()
    """Keys of the metrics that the runs must give."""
    toolchain: str | None = None
    """What builds all revisions, instead of the newest there is."""
    setup_limit_s: float | None = None
    """What a step of setting up may take, instead of what fits it."""
    passed_variables: tuple[str, ...] = ()
    """Names of environment variables that builds and runs get besides the listed ones."""
    argv: tuple[str, ...]
    """For the result files, without secrets."""


@dataclass(frozen=True, kw_only=True)
class ValidRequest:
    """A request that makes sense, resolved."""

    engine: Engine
    scenarios: tuple[Scenario, ...]
    topology: Topology
    repository: Repository
    specs: tuple[EnvironmentSpec, ...]
    cache: Cache
    time_limit_s: float | None
    instruments: Instruments
    """What observes instrumented runs; none, if there are to be no such runs."""
    toolchain: str | None
    setup_limit_s: float | None
    python: str | None
    """The interpreter that the user asks for."""
    argv: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the revisions, the baseline's first."""
        return tuple(spec.revision.label for spec in self.specs)

    def as_settings(self) -> dict[str, object]:
        """What it asks for besides revisions and topology, for the result files."""
        return {
            "scenarios": [scenario.name for scenario in self.scenarios],
            "time_limit_s": self.time_limit_s,
            "instruments": sorted(self.instruments.keys),
            "split": "sampled" if self.instruments.sampler else "ticks",
        }

    @property
    def round_s(self) -> float:
        """Roughly how long one round of every scenario takes."""
        return sum(scenario.expected_s for scenario in self.scenarios) * len(self.specs)


def validate(request: Request, say: PreparationLog, *, quick: bool) -> ValidRequest:
    """Validates and resolves a request; ``quick`` shortens the scenarios.

    Raises ``UsageError``; creates nothing but entries of the cache.
    """
    variables.pass_on(request.passed_variables)
    engine = revisions.engine_of(request.revisions)
    topology = _topology(request, engine)
    chosen = _scenarios(request, quick=quick)
    for name, limit_s in (
        ("--time-limit", request.time_limit_s), ("--setup-limit", request.setup_limit_s)
    ):  # fmt: skip
        if limit_s is not None and not 0 < limit_s <= _LONGEST_S:
            raise UsageError(
                f"{name} {limit_s:g}: must be above zero, and at most {_LONGEST_S:g} seconds."
            )
    _require_metrics(request, chosen)
    instruments = _instruments(request)
    cache = Cache()
    location = request.repo or os.environ.get(engine.repository_variable) or engine.repository
    repository = Repository(location, cache, say.about)
    with say:
        named = revisions.resolve(request.revisions, repository)
        chooser = Chooser(engine, repository, cache)
        specs = chooser.choose(named, request.origin, request.python)
    return ValidRequest(
        engine=engine,
        scenarios=chosen,
        topology=topology,
        repository=repository,
        specs=specs,
        cache=cache,
        time_limit_s=request.time_limit_s,
        instruments=instruments,
        toolchain=request.toolchain,
        setup_limit_s=request.setup_limit_s,
        python=request.python,
        argv=request.argv,
    )


def _topology(request: Request, engine: Engine) -> Topology:
    for name, number in (("--processes", request.processes), ("--workers", request.workers)):
        if number < 1:
            raise UsageError(f"{name} {number}: must be at least 1.")
    kind = request.topology or ("single" if request.processes == 1 else "cluster")
    if kind not in engine.topologies:
        raise UsageError(f"--topology {kind!r} is not one of: {', '.join(engine.topologies)}.")
    if kind == "single" and request.processes > 1:
        others: Sequence[str] = [other for other in engine.topologies if other != "single"]
        raise UsageError(
            "--topology single is one process. For more, leave it out"
            + "".join(f", or say --topology {other}" for other in others[-1:])
            + "."
        )
    return Topology(kind, request.processes, request.workers)


def _require_metrics(request: Request, scenarios: Sequence[Scenario]) -> None:
    """Raises ``UsageError`` for what no run of the scenarios can give."""
    possible = {metric.key: metric.name for one in scenarios for metric in one.metrics}
    lacking = sorted(request.required_metrics - set(possible))
    if lacking:
        names = ", ".join(metric.name for metric in METRICS if metric.key in possible)
        raise UsageError(
            f"--fail-on {_name_of(lacking[0])}: no run of {_listed(scenarios)} gives it. There "
            f"are: {names}."
        )


def _name_of(key: str) -> str:
    return next(metric.name for metric in METRICS if metric.key == key)


def _listed(scenarios: Sequence[Scenario]) -> str:
    names = [scenario.name for scenario in scenarios]
    return " or ".join(names) if len(names) <= 3 else f"{len(names)} scenarios"


def _instruments(request: Request) -> Instruments:
    found = find_instruments() if request.instrumented else Instruments()
    if SYSTEM_CALLS in request.required_metrics - found.keys:
        if not request.instrumented:
            raise UsageError(
                "System calls are counted in instrumented runs only: leave out --no-instruments."
            )
        counter = find_system_calls()
        raise UsageError(
            f"System calls cannot be counted here: {counter.reason}. This would mend it: "
            f"{counter.remedy}"
        )
    return found


def _scenarios(request: Request, *, quick: bool) -> tuple[Scenario, ...]:
    if request.dataflow is None:
        return selection.select(request.scenarios, request.settings, quick=quick)
    if request.settings:
        raise UsageError(
            "--set changes this project's scenarios; parameters of your own dataflow go into its "
            "call."
        )
    own = selection.of_user(request.dataflow)
    if not request.scenarios:
        return (own,)
    return (*selection.select(request.scenarios, (), quick=quick), own)
