"""A valid request -> everything that measuring takes: hyperfine, environments, assets, services."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console

from waitbench import VERSION
from waitbench.cli.request import ValidRequest
from waitbench.environments import origins
from waitbench.environments.virtualenvs import Maker
from waitbench.execution import assets, services
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine, locate
from waitbench.execution.measure import Measurer
from waitbench.model.environment import Environment, EnvironmentSpec
from waitbench.model.errors import HarnessError
from waitbench.model.record import Contestant, Context, Record
from waitbench.model.run import NOT_BUILT, WARM_UP, Outcome
from waitbench.reporting.progress import PreparationLog
from waitbench.system import machine


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that measuring takes."""

    request: ValidRequest
    hyperfine: Hyperfine
    environments: Mapping[str, Environment]
    """By label; without those that could not be made."""
    errors: Mapping[str, HarnessError]
    """Why the others could not be made."""
    context: Context
    services_python: Path | None

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the revisions that can be measured."""
        return tuple(label for label in self.request.labels if label in self.environments)

    def measurer(self) -> Measurer:
        """What measures these environments."""
        bench = Bench(
            environments=self.environments,
            topology=self.request.topology,
            cache=self.request.cache,
            time_limit_s=self.request.time_limit_s,
            services_python=self.services_python,
            instruments=self.request.instruments,
        )
        return Measurer(self.hyperfine, bench)

    def new_records(self) -> dict[str, Record]:
        """An empty record for each scenario, but for what could not be built."""
        records = {}
        for scenario in self.request.scenarios:
            record = Record(
                scenario=scenario.name,
                family=scenario.family.name,
                parameters=scenario.parameters,
                context=self.context,
                waits=scenario.waits,
                works=scenario.works,
                metrics=scenario.metrics,
            )
            for label, error in self.errors.items():
                record.add(_not_built(label, error, self.context.started_at))
            records[scenario.name] = record
        return records


def prepare(request: ValidRequest, progress: Console, say: PreparationLog) -> Prepared:
    """Locates or makes everything; what cannot be made is said at once."""
    with say:
        hyperfine = locate(request.cache, say.about)
        families = {scenario.family.name: scenario.family for scenario in request.scenarios}
        requirements = {text for family in families.values() for text in family.requirements}
        maker = Maker(
            engine=request.engine,
            repository=request.repository,
            cache=request.cache,
            requirements=tuple(sorted(requirements)),
            toolchain=request.toolchain,
            limit_s=request.setup_limit_s,
            say=say,
        )
        made = maker.make_all(request.specs)
        usable = {label: one for label, one in made.items() if isinstance(one, Environment)}
        if usable:
            first = next(iter(usable.values()))
            assets.make(request.scenarios, first, request.cache, say.about)
        services_python = None
        if any(family.services is not None for family in families.values()):
            services_python = services.make_environment(request.cache, say.about)
    errors = {label: one for label, one in made.items() if isinstance(one, HarnessError)}
    for label, error in errors.items():
        progress.print(f"{label}: {error}", style="red", soft_wrap=True)
    context = Context(
        engine=request.engine.name,
        revisions=tuple(
            _contestant(spec, usable.get(spec.revision.label)) for spec in request.specs
        ),
        topology=str(request.topology),
        mixed_origins=origins.is_mixed(request.specs),
        hyperfine_version=hyperfine.version,
        machine=machine.describe(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        argv=request.argv,
        waitbench=VERSION,
    )
    return Prepared(
        request=request,
        hyperfine=hyperfine,
        environments=usable,
        errors=errors,
        context=context,
        services_python=services_python,
    )


def _contestant(spec: EnvironmentSpec, environment: Environment | None) -> Contestant:
    return Contestant(
        label=spec.revision.label,
        text=spec.revision.text,
        origin=spec.origin.value,
        commit=spec.commit,
        commit_date=spec.commit_date,
        facts=environment.facts if environment else None,
    )


def _not_built(label: str, error: HarnessError, at: str) -> Outcome:
    return Outcome(
        label=label,
        round=WARM_UP,
        position=0,
        started_at=at,
        reason=NOT_BUILT,
        message=str(error).splitlines()[0],
        log=str(error),
    )
