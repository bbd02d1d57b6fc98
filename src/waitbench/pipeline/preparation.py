"""Makes the environments of a valid request, and the records to which its runs are added."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import convert, structs

from waitbench.analysis.criteria import Criterion
from waitbench.engines.worker import file as worker_file
from waitbench.environments import origins
from waitbench.environments.virtualenvs import Built, EnvironmentBuilder, has_changed
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import MEMORY, SERVICES, SYSTEM_CALLS, Metric
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


def build(valid: ValidRequest, output: Output) -> Built:
    """Makes missing environments. Prints an error for each that cannot be made."""
    builder = EnvironmentBuilder(engine=valid.engine, cache=valid.cache, say=output.log)
    built = builder.build_all(valid.specs)
    for label, result in built.items():
        if isinstance(result, HarnessError):
            output.progress.print(f"{label}: {result}", style="red", soft_wrap=True)
    return built


def make_header(
    valid: ValidRequest,
    environments: Mapping[str, Environment],
    hyperfine: Hyperfine,
    settings: Mapping[str, object],
) -> ComparisonHeader:
    return ComparisonHeader(
        revisions=tuple(
            spec.recorded(environments[spec.label].build if spec.label in environments else None)
            for spec in valid.specs
        ),
        topology=valid.topology,
        mixed_origins=origins.is_mixed(valid.specs),
        hyperfine_version=hyperfine.version,
        machine=machine.describe(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        argv=valid.request.argv,
        waitbench=installation.version(),
        settings=settings,
        # Drops the additional fields of the engines' subclasses of ``Scenario``.
        scenarios=tuple(convert(it, Scenario, from_attributes=True) for it in valid.scenarios),
        shard=valid.shard,
    )


def new_records(
    header: ComparisonHeader, scenarios: Sequence[Scenario], built: Built
) -> dict[str, ScenarioResults]:
    """Makes empty records by scenario; environments that could not be made are failed runs."""
    records = {}
    for scenario in scenarios:
        records[scenario.name] = record = ScenarioResults(spec=scenario, context=header)
        for label, error in built.items():
            if isinstance(error, HarnessError):
                failed = FailedRun(
                    label=label,
                    round=WARM_UP,
                    position=0,
                    started_at=header.started_at,
                    reason=NOT_BUILT,
                    message=error.reason,
                    log=str(error),
                )
                record.add(failed)
    return records


def measurer(
    valid: ValidRequest,
    environments: Mapping[str, Environment],
    hyperfine: Hyperfine,
    criteria: Sequence[Criterion],
) -> Measurer:
    """Makes a measurer of the metrics of all criteria; without criteria, of all metrics.

    Unless these metrics need it, system calls are not counted, as that costs workers CPU; and
    workers are not poked after the window, as that may take as long as the poke's time limit.
    """
    metrics = [criterion.metric for criterion in criteria]
    counts_calls = not metrics or any(metric.key == SYSTEM_CALLS for metric in metrics)
    bench = Bench(
        engine=valid.engine,
        environments=environments,
        topology=valid.topology,
        cache=valid.cache,
        time_limit_s=valid.request.time_limit_s,
        tracepoint=valid.instruments.tracepoint if counts_calls else None,
        pokes=not metrics or not all(map(_is_known_by_end_of_window, metrics)),
    )
    return Measurer(hyperfine, bench)


def _is_known_by_end_of_window(metric: Metric) -> bool:
    earlier = {MEMORY.key, "time_startup", "time_cpu_startup", "processes_replaced"}
    return metric.is_of_window or metric in SERVICES or metric.key in earlier


def require_unchanged(valid: ValidRequest, environments: Mapping[str, Environment]) -> None:
    """Raises ``HarnessError`` if a program, package or worker file was edited meanwhile."""
    worker, package = valid.request.worker, valid.engine.package
    changed = [
        spec.label
        for spec in valid.specs
        if spec.label in environments
        and has_changed(spec.source, environments[spec.label], package)
    ]
    if worker and worker_file.has_changed(worker):
        changed.append(f"{worker.path.name} or one of its files")
    if changed:
        raise HarnessError(
            f"{', '.join(changed)} changed while it was measured: its runs are not all of the "
            "same code. Measure again."
        )


def begin(
    folder: Path,
    header: ComparisonHeader,
    records: Mapping[str, ScenarioResults],
    say: Callable[[str], None],
) -> StoredComparison:
    """Writes a comparison into a folder, and adds the runs that the folder has to its records.

    Raises ``UsageError`` if the folder has another comparison, or another shard.
    """
    before = comparisons.read_begun(folder)
    if before is not None and before.cut_off:
        say(before.cut_off)
    if before is not None:
        require_same(before.folder, before.comparison, header)
        for earlier in before.records:
            resume_record(records[earlier.scenario], earlier)
    # Saves which runs were discarded: after another interruption, old and new might else mix.
    comparisons.begin(folder, header, records.values())
    return StoredComparison(folder=folder, comparison=header, records=list(records.values()))


def interruption_message(folder: Path, *, has_resume: bool = True) -> str:
    resume = "; to continue, add --resume to the same command" if has_resume else ""
    return f"Finished runs are kept in {folder}{resume}."


def require_same(folder: Path, before: ComparisonHeader, now: ComparisonHeader) -> None:
    """Raises ``UsageError`` if a comparison was begun with other revisions, scenarios or criteria.

    ``--budget``, ``--inconclusive`` and ``--accepted`` may differ.
    """
    name = first_difference(_must_be_same(before, now), _must_be_same(now, before))
    if name is not None:
        raise UsageError(
            f"{str(folder)!r} was begun with other {name}, so it cannot be resumed as this "
            "comparison. Repeat the command as it was, or name another folder with --results."
        )


def first_difference(facts: Mapping[str, object], others: Mapping[str, object]) -> str | None:
    """Returns the first name whose facts differ, or ``None``."""
    names = dict.fromkeys((*facts, *others))
    return next((name for name in names if facts.get(name) != others.get(name)), None)


def _must_be_same(comparison: ComparisonHeader, other: ComparisonHeader) -> dict[str, Any]:
    """The facts that must be the same in both sessions of a comparison, by name."""
    gate = gate_of(comparison)
    return {
        "shards": comparison.shard,
        **comparison.in_common(other.revisions),
        "criteria": gate.criteria,
        "criteria left out": gate.left_out,
        "kernel counters": comparison.settings.get("instruments"),
    }


def resume_record(record: ScenarioResults, earlier: ScenarioResults) -> None:
    """Adds complete rounds and failures of an interrupted session to a new record.

    Runs of incomplete rounds are discarded, and made again. Raises ``UsageError`` on another
    machine, or if a program has changed.
    """
    there, here = (it.measured_on.get("fingerprint") for it in (earlier, record))
    if earlier.measurements and None not in (there, here) and there != here:
        raise UsageError(
            f"{record.scenario} was measured on another machine, and its rounds are not mixed with "
            "those of this one. Continue there, or name another folder with --results."
        )
    for label in earlier.context.labels:
        for path, digest in earlier.loaded(label).items():
            if files.sha256(Path(path)) != digest:
                raise UsageError(
                    f"{label} had loaded {path}, which has changed since: its old rounds are not "
                    "comparable. Name another folder with --results."
                )
    built = [it for it in earlier.failed_runs if it.reason != NOT_BUILT]
    # A round is whole by what can be built now.
    earlier = structs.replace(earlier, failed_runs=[*built, *record.failed_runs])
    record.warm_ups = [*earlier.warm_ups]
    record.measurements += [run for run in earlier.measurements if earlier.is_whole(run.round)]
    # Failures stay on record and are repeated; failed warm-ups become harmless, builds are new.
    before = [
        it
        if it.round != WARM_UP or it.reason in HARMLESS
        else discard_as(it, SUPERSEDED, f"{it.reason}: {it.message}")
        for it in built
    ]
    before += [
        discard_as(run, SUPERSEDED, "another revision was not measured in this round")
        for run in earlier.measurements
        if not earlier.is_whole(run.round)
    ]
    record.failed_runs, record.failed_before = [*before, *record.failed_runs], len(before)
