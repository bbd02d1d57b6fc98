"""A valid request -> hyperfine, the environments, and the records to add runs to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from waitbench.analysis.criteria import Criterion
from waitbench.engines.worker import file as worker_file
from waitbench.environments import origins
from waitbench.environments.virtualenvs import EnvironmentBuilder, has_changed
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine, locate
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import MEMORY, SYSTEM_CALLS, Instruments, Metric
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.revision import Environment
from waitbench.model.run import HARMLESS, NOT_BUILT, SUPERSEDED, WARM_UP, FailedRun, discard_as
from waitbench.model.scenario import Scenario
from waitbench.pipeline.gating import gate_of
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.output import Output
from waitbench.store import comparisons
from waitbench.store.comparisons import StoredComparison
from waitbench.system import files, installation, machine


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that measuring takes."""

    request: ValidRequest
    hyperfine: Hyperfine
    environments: Mapping[str, Environment]
    """By label, without those that could not be made."""
    errors: Mapping[str, HarnessError]
    """The errors of the others."""
    context: ComparisonHeader

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label in self.request.labels if label in self.environments)

    def require_unchanged(self) -> None:
        """Raises ``HarnessError`` if code was edited while it was measured."""
        worker, package = self.request.typed.worker, self.request.engine.package
        changed = [
            spec.label
            for spec in self.request.specs
            if spec.label in self.environments
            and has_changed(spec.source, self.environments[spec.label], package)
        ]
        if worker and worker_file.has_changed(worker):
            changed.append(f"{worker.path.name} or one of its files")
        if changed:
            raise HarnessError(
                f"{', '.join(changed)} changed while it was measured: its runs are not all of the "
                "same code. Measure again."
            )

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

    def new_records(
        self, scenarios: Sequence[Scenario] | None = None
    ) -> dict[str, ScenarioResults]:
        """Records without runs, but for builds that failed; by default, of the scenarios here."""
        records = {}
        for scenario in self.request.here if scenarios is None else scenarios:
            record = ScenarioResults(spec=scenario, context=self.context)
            for label, error in self.errors.items():
                outcome = FailedRun(
                    label=label,
                    round=WARM_UP,
                    position=0,
                    started_at=self.context.started_at,
                    reason=NOT_BUILT,
                    message=error.reason,
                    log=str(error),
                )
                record.add(outcome)
            records[scenario.name] = record
        return records

    def describe(self, settings: Mapping[str, object]) -> ComparisonHeader:
        """The header of the comparison, with other settings of the request."""
        return replace(
            self.context,
            settings=dict(settings),
            scenarios=tuple(
                # Without the fields that engines add.
                convert(scenario, Scenario, from_attributes=True)
                for scenario in self.request.scenarios
            ),
            shard=self.request.shard,
        )


def _is_known_by_end_of_window(metric: Metric) -> bool:
    earlier = {MEMORY.key, "time_startup", "time_cpu_startup", "processes_replaced"}
    return metric.is_of_window or metric.is_of_services or metric.key in earlier


def prepare(request: ValidRequest, output: Output) -> Prepared:
    """Locates or makes everything; prints errors of environments as soon as they occur."""
    hyperfine = locate(request.cache, output.log.about)
    builder = EnvironmentBuilder(engine=request.engine, cache=request.cache, say=output.log)
    made = builder.build_all(request.specs)
    usable = {label: it for label, it in made.items() if isinstance(it, Environment)}
    errors = {label: it for label, it in made.items() if isinstance(it, HarnessError)}
    for label in request.labels:
        if label in errors:
            output.progress.print(f"{label}: {errors[label]}", style="red", soft_wrap=True)
    context = ComparisonHeader(
        revisions=tuple(
            spec.recorded(usable[spec.label].build if spec.label in usable else None)
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


def begin(
    prepared: Prepared,
    folder: Path,
    settings: Mapping[str, object],
    say: Callable[[str], None],
) -> StoredComparison:
    """Begins a comparison in a folder, with the runs that the folder has already.

    Raises ``UsageError`` if the folder holds another comparison, or another part of one.
    """
    records, comparison = prepared.new_records(), prepared.describe(settings)
    before = comparisons.resume(folder)
    if before is not None and before.cut_off:
        say(before.cut_off)
    if before is not None and before.records:
        require_same(before.folder, before.comparison, comparison)
        for earlier in before.records:
            go_on(records[earlier.scenario], earlier)
    # With discarded runs: an interruption in the new round would leave halves of both.
    comparisons.begin(folder, comparison, records.values())
    return StoredComparison(folder=folder, comparison=comparison, records=list(records.values()))


def saved_in(folder: Path, *, has_resume: bool = True) -> str:
    """The message after an interruption of a command that has ``--resume``, or has not."""
    resume = "; the same command with --resume goes on" if has_resume else ""
    return f"Finished runs are kept in {folder}{resume}."


def require_same(folder: Path, before: ComparisonHeader, now: ComparisonHeader) -> None:
    """Raises ``UsageError`` if a comparison was begun with other questions.

    Its budget, and the exit code of an inconclusive result, may change.
    """
    name = first_difference(_questions(before, now), _questions(now, before))
    if name is not None:
        raise UsageError(
            f"{str(folder)!r} was begun with other {name}, so it cannot be resumed as this "
            "comparison. Repeat the command as it was, or name another folder with --results."
        )


def first_difference(facts: Mapping[str, object], others: Mapping[str, object]) -> str | None:
    names = dict.fromkeys((*facts, *others))
    return next((name for name in names if facts.get(name) != others.get(name)), None)


def _questions(comparison: ComparisonHeader, other: ComparisonHeader) -> dict[str, Any]:
    """The facts that all runs must have in common to answer the same questions, by name."""
    gate = gate_of(comparison)
    return {
        "shards": comparison.shard,
        **comparison.in_common(other.revisions),
        "criteria": gate.criteria,
        "left_out": gate.left_out,
        "instruments": comparison.settings.get("instruments"),
    }


def go_on(record: ScenarioResults, earlier: ScenarioResults) -> list[FailedRun]:
    """Adds the whole rounds of an interrupted comparison, and its failures.

    Returns the runs that are discarded, to be made again. Raises ``UsageError`` on another machine,
    or if a program has changed.
    """
    there, here = (it.measured_on.get("fingerprint") for it in (earlier, record))
    if earlier.measurements and None not in (there, here) and there != here:
        raise UsageError(
            f"{record.scenario} was measured on another machine, and its rounds are not mixed with "
            "those of this one. Go on there, or name another folder with --results."
        )
    for label in earlier.context.labels:
        for path, digest in earlier.loaded(label).items():
            if files.sha256(Path(path)) != digest:
                raise UsageError(
                    f"{label} had loaded {path}, which has changed since: its rounds are not mixed "
                    "with those of another program. Name another folder with --results."
                )
    record.measurements += [run for run in earlier.measurements if earlier.is_whole(run.round)]
    # A failure stays until the run succeeds. Failed builds are tried, and reported, anew.
    record.outcomes += [
        it for it in earlier.outcomes if it.reason != NOT_BUILT and not _is_warm_up(it)
    ]
    repeated = [
        discard_as(it, SUPERSEDED, f"{it.reason}: {it.message}")
        for it in earlier.outcomes
        if _is_warm_up(it)
    ] + [
        discard_as(run, SUPERSEDED, "another revision was not measured in this round")
        for run in earlier.measurements
        if not earlier.is_whole(run.round)
    ]
    record.outcomes += repeated
    record.outcomes_before = len(record.outcomes)
    return repeated


def _is_warm_up(outcome: FailedRun) -> bool:
    """Whether a warm-up failed: each session has its own."""
    return outcome.round == WARM_UP and outcome.reason not in {*HARMLESS, NOT_BUILT}
