"""A valid request -> hyperfine, the environments, and the header of the comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from msgspec import convert
from msgspec.structs import replace

from waitbench.analysis.criteria import Criterion
from waitbench.environments import origins
from waitbench.environments.virtualenvs import Maker
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine, locate
from waitbench.execution.measure import Measurer
from waitbench.model.environment import Environment
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import MEMORY, SYSTEM_CALLS, Instruments, Metric
from waitbench.model.record import Context, Record
from waitbench.model.run import NOT_BUILT, WARM_UP, Outcome
from waitbench.model.scenario import Scenario
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.output import Output
from waitbench.system import installation, machine


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that measuring takes."""

    request: ValidRequest
    hyperfine: Hyperfine
    environments: Mapping[str, Environment]
    """By label, without those that could not be made."""
    errors: Mapping[str, HarnessError]
    """The errors of the others."""
    context: Context

    @property
    def labels(self) -> tuple[str, ...]:
        """The revisions that have an environment."""
        return tuple(label for label in self.request.labels if label in self.environments)

    def measurer(self, criteria: Sequence[Criterion]) -> Measurer:
        """Returns what measures the environments, and no more than criteria need, if there are any.

        Counting system calls costs workers CPU. Waking a worker up after its window takes up to its
        time limit.
        """
        metrics = [criterion.metric for criterion in criteria]
        counts_calls = not metrics or any(metric.key == SYSTEM_CALLS for metric in metrics)
        bench = Bench(
            engine=self.request.engine,
            environments=self.environments,
            topology=self.request.topology,
            cache=self.request.cache,
            time_limit_s=self.request.typed.time_limit_s,
            instruments=self.request.instruments if counts_calls else Instruments(),
            wakes_up=not metrics or not all(map(_is_known_by_end_of_window, metrics)),
        )
        return Measurer(self.hyperfine, bench)

    def new_records(self, scenarios: Sequence[Scenario] | None = None) -> dict[str, Record]:
        """Records without runs, but for builds that failed; by default, of the scenarios here."""
        records = {}
        for scenario in self.request.here if scenarios is None else scenarios:
            record = Record(spec=scenario, context=self.context)
            for label, error in self.errors.items():
                record.add(_not_built(label, error, self.context.started_at))
            records[scenario.name] = record
        return records

    def describe(self, settings: Mapping[str, object]) -> Context:
        """The header of the comparison, with other settings of the request."""
        return replace(
            self.context,
            settings=dict(settings),
            scenarios=tuple(
                # Without the fields that engines add.
                convert(scenario, Scenario, from_attributes=True)
                for scenario in self.request.scenarios
            ),
            share=None if self.request.shard.is_whole else self.request.shard,
        )


def _is_known_by_end_of_window(metric: Metric) -> bool:
    earlier = {MEMORY.key, "time_startup", "time_cpu_startup", "processes_replaced"}
    return metric.is_of_window or metric.is_of_services or metric.key in earlier


def prepare(request: ValidRequest, output: Output) -> Prepared:
    """Locates or makes everything; prints errors of environments as soon as they occur."""
    hyperfine = locate(request.cache, output.log.about)
    maker = Maker(engine=request.engine, cache=request.cache, say=output.log)
    made = maker.make_all(request.specs)
    usable = {label: it for label, it in made.items() if isinstance(it, Environment)}
    errors = {label: it for label, it in made.items() if isinstance(it, HarnessError)}
    for label in request.labels:
        if label in errors:
            output.progress.print(f"{label}: {errors[label]}", style="red", soft_wrap=True)
    context = Context(
        revisions=tuple(
            replace(spec.revision, facts=usable[spec.label].facts)
            if spec.label in usable
            else spec.revision
            for spec in request.specs
        ),
        topology=request.topology,
        mixed_origins=origins.is_mixed(request.specs),
        hyperfine_version=hyperfine.version,
        machine=machine.describe(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        argv=request.typed.argv,
        waitbench=installation.version(),
    )
    return Prepared(
        request=request,
        hyperfine=hyperfine,
        environments=usable,
        errors=errors,
        context=context,
    )


def _not_built(label: str, error: HarnessError, at: str) -> Outcome:
    return Outcome(
        label=label,
        round=WARM_UP,
        position=0,
        started_at=at,
        reason=NOT_BUILT,
        message=error.reason,
        log=str(error),
    )
