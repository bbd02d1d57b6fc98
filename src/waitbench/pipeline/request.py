"""What the user typed -> a Request -> a ValidRequest. Nothing is built yet."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from waitbench import engines
from waitbench.engines import METRICS, selection
from waitbench.engines.base import Engine
from waitbench.engines.worker import Command
from waitbench.environments import revisions
from waitbench.environments.origins import Chooser
from waitbench.environments.repository import Repository
from waitbench.model.environment import EnvironmentSpec, OriginChoice
from waitbench.model.errors import UsageError
from waitbench.model.metrics import MEMORY, STOP, SYSTEM_CALLS, Instruments
from waitbench.model.scan import TOPOLOGY, Scan
from waitbench.model.scenario import Scenario, Topology
from waitbench.model.shard import WHOLE, Shard
from waitbench.model.worker import WorkerFile
from waitbench.reporting.progress import PreparationLog
from waitbench.system import variables
from waitbench.system.instruments import find_instruments
from waitbench.system.places import RESULTS, Cache


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to measure, as typed."""

    revisions: tuple[str, ...]
    scenarios: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    topology: str | None = None
    processes: int = 1
    workers: int = 1
    dataflow: str | None = None
    worker: WorkerFile | None = None
    """The worker file, where what is measured is a command."""
    origin: OriginChoice = "auto"
    python: str | None = None
    """The interpreter that the user asks for."""
    repo: str | None = None
    time_limit_s: float | None = None
    required_metrics: frozenset[str] = frozenset()
    """Keys of the metrics that the runs must give."""
    shard: Shard = WHOLE
    scan: Scan | None = None
    """The parameter that each scenario is measured at several values of."""
    by_defaults: bool = False
    """Whether the gate asks its default questions, some of which have scenarios of their own."""
    rounds: int = 5
    """Of each revision in each scenario, where no gate decides that."""
    quick: bool = False
    """Whether scenarios are shortened."""
    why: bool = False
    """Whether to look at who wakes up, in one more run of each revision."""
    results: Path | None = None
    store: Path = RESULTS
    """Where a folder is made if none is named."""
    resume: bool = False
    argv: tuple[str, ...]
    """For the result files, without secrets."""

    @property
    def engine(self) -> Engine:
        """What is compared."""
        return engines.DEFAULT if self.worker is None else Command(self.worker)


@dataclass(frozen=True, kw_only=True)
class ValidRequest:
    """A request that makes sense, resolved."""

    typed: Request
    engine: Engine
    """Whose revisions these are."""
    scenarios: tuple[Scenario, ...]
    """All of the comparison."""
    shard: Shard
    """The scenarios that are measured here."""
    topology: Topology
    repository: Repository | None
    """Where its commits are, if it has any."""
    specs: tuple[EnvironmentSpec, ...]
    cache: Cache
    instruments: Instruments
    """What the kernel counts here besides CPU time and switches."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the revisions, the baseline's first."""
        return tuple(spec.revision.label for spec in self.specs)

    @property
    def here(self) -> tuple[Scenario, ...]:
        """The scenarios that are measured here."""
        return tuple(it for it in self.scenarios if it.name in self.shard.scenarios)

    @property
    def elsewhere(self) -> tuple[Scenario, ...]:
        """The others."""
        return tuple(it for it in self.scenarios if it.name not in self.shard.scenarios)

    def as_settings(self) -> dict[str, object]:
        """What it asks for besides revisions, topology and scenarios, for the result files."""
        worker = self.typed.worker
        return {
            "time_limit_s": self.typed.time_limit_s,
            "instruments": sorted(self.instruments.keys),
            **({} if worker is None else {"worker": dict(worker.texts)}),
        }


def validate(request: Request, say: PreparationLog) -> ValidRequest:
    """Validates and resolves a request.

    Raises ``UsageError``; creates nothing but entries of the cache.
    """
    variables.require_passed()
    engine = request.engine
    topology = _topology(request, engine)
    if request.scan is not None and not request.shard.is_whole:
        raise UsageError("--shard: a curve is of one machine; leave out --scan, or --shard.")
    chosen = _scenarios(request, engine)
    shard = request.shard.dealt({scenario.name: scenario.expected_s for scenario in chosen})
    found = find_instruments()
    _require_metrics(request, chosen, found)
    cache = Cache()
    home = request.repo or os.environ.get(engine.repository_variable or "") or engine.repository
    repository = Repository(home, cache, say.about) if home else None
    named = revisions.resolve(request.revisions, engine, repository)
    chooser = Chooser(engine, repository, cache, say.about)
    specs = chooser.choose(named, request.origin, request.python)
    return ValidRequest(
        typed=request,
        engine=engine,
        scenarios=chosen,
        shard=shard,
        topology=topology,
        repository=repository,
        specs=specs,
        cache=cache,
        instruments=found,
    )


def _topology(request: Request, engine: Engine) -> Topology:
    kind = request.topology or ("single" if request.processes == 1 else "cluster")
    if kind not in engine.topologies:
        raise UsageError(f"--topology {kind!r} is not one of: {', '.join(engine.topologies)}.")
    if engine.most_workers is not None and request.workers > engine.most_workers:
        raise UsageError(
            f"--workers {request.workers}: {engine.name} has {engine.most_workers} at most."
        )
    if kind == "single" and request.processes > 1:
        raise UsageError("--topology single is one process. For more, leave it out.")
    return Topology(kind, request.processes, request.workers)


def _require_metrics(request: Request, scenarios: Sequence[Scenario], counted: Instruments) -> None:
    """Raises ``UsageError`` for what no run of the scenarios, or not this machine, can give."""
    possible = {metric.key: metric.name for one in scenarios for metric in one.metrics}
    lacking = sorted(request.required_metrics - set(possible))
    if lacking:
        known = {metric.key: metric.name for metric in (*METRICS, MEMORY, STOP)}
        name = known.get(lacking[0], lacking[0])
        raise UsageError(
            f"{name}: no run of {', '.join(one.name for one in scenarios)} measures it. "
            f"There are: {', '.join(dict.fromkeys(possible.values()))}."
        )
    if SYSTEM_CALLS in request.required_metrics - counted.keys:
        raise UsageError(
            f"System calls cannot be counted here: {counted.reason}. This would fix it: "
            f"{counted.remedy}"
        )


def _scenarios(request: Request, engine: Engine) -> tuple[Scenario, ...]:
    """What is measured. Raises ``UsageError``."""
    scan, quick, worker = request.scan, request.quick, request.worker
    own: tuple[Scenario, ...] = ()
    if request.dataflow is not None:
        if worker is not None:
            raise UsageError("--dataflow does not go with --worker: the file says what is run.")
        if request.settings and not request.scenarios:
            raise UsageError(
                "--set changes this project's scenarios; parameters of your own dataflow go into "
                "its call."
            )
        own = selection.dataflow(request.dataflow, scan)
    chosen: Sequence[Scenario] = ()
    if request.scenarios or not own:
        named = request.scenarios, request.settings
        chosen = (
            selection.select(*named, worker=worker, quick=quick, for_gate=request.by_defaults)
            if scan is None
            else selection.scanned(*named, scan, worker=worker, quick=quick)
        )
    if not request.scenarios:
        # What the engine cannot start is not asked for unless somebody names it.
        kinds = (None, *engine.topologies)
        chosen = [one for one in chosen if (one.topology and one.topology.kind) in kinds]
    found = (*chosen, *own)
    if scan is None or scan.parameter not in TOPOLOGY:
        return found
    return tuple(_started(request, one, scan, engine) for one in found)


def _started(request: Request, scenario: Scenario, scan: Scan, engine: Engine) -> Scenario:
    """A scenario with as many processes or workers as its place on a curve says."""
    assert scenario.scan is not None, "it is one of a scan"
    # Named as what is typed for it.
    count: dict[str, Any] = {scan.parameter: int(scenario.scan.value)}
    asked = replace(request, **count)
    return replace(scenario, topology=_topology(asked, engine))
