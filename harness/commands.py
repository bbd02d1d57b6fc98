"""What each command does: calls the stations in order, and hands data from one to the next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness import environments, machine, origins, plan, results, revisions, scenarios, session, timeline
from harness.environments import Environment
from harness.errors import ExitCode, HarnessError, UsageError
from harness.guard import Guard
from harness.hyperfine import Hyperfine, locate
from harness.index import Index
from harness.measure import NOT_SUPPORTED, Measurement, Measurer, Outcome, is_supported
from harness.origins import OriginChoice, Recipe
from harness.places import Cache
from harness.plan import PlannedRun
from harness.progress import PreparationLog, RunProgress
from harness.repository import Repository
from harness.results import Context, Record
from harness.scenarios import TOPOLOGY_KINDS, Scenario, Topology

CHART_FORMATS = ("png", "svg")


@dataclass(frozen=True)
class Request:
    """What the user asked of ``compare``, as typed."""

    revisions: tuple[str, ...]
    scenarios: tuple[str, ...]
    settings: tuple[str, ...]
    rounds: int
    topology: str | None
    processes: int
    workers: int
    dataflow: str | None
    timeline: bool
    launcher_cost: bool
    origin: OriginChoice
    python: str | None
    repo: str
    results: Path
    time_limit_s: float | None
    resume: bool
    plot: bool
    argv: tuple[str, ...]


def compare(request: Request, output: Console, progress: Console, *, quiet: bool, as_json: bool) -> ExitCode:
    """The main job: environments, runs, results, charts, report. Raises ``HarnessError``."""
    topology = _checked(request)
    chosen = _scenarios(request)
    cache = Cache()
    preparation = PreparationLog(progress, quiet=quiet)
    repository = Repository(request.repo, cache, preparation.about)
    with preparation:
        named = revisions.resolve(request.revisions, repository)
        recipes = origins.choose(named, request.origin, request.python, repository, Index(cache))
    with session.exclusive(request.results, cache):
        earlier = _earlier(request)
        with preparation:
            hyperfine = locate(cache, preparation.about)
            made = environments.make_all(recipes, repository, cache, preparation)
        usable = {label: found for label, found in made.items() if isinstance(found, Environment)}
        for label, error in made.items():
            if isinstance(error, HarnessError):
                progress.print(f"{label}: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        context = _context(request, recipes, usable, topology, hyperfine)
        records = _records(chosen, context, earlier, made)
        done = {(r.scenario, m.label, m.round) for r in records.values() for m in r.measurements}
        runs = plan.missing(plan.schedule(chosen, list(usable), request.rounds), done) if usable else ()
        if not request.resume:
            _put_aside(request.results, cache, preparation.about)
        with Guard() as guard, RunProgress(runs, progress, quiet=quiet) as run_progress:
            measurer = Measurer(hyperfine, usable, topology, cache, guard.watch, request.time_limit_s)
            session.carry_out(runs, measurer, records, request.results, run_progress)
            if request.launcher_cost:
                _add_launcher_cost(chosen, measurer, records, preparation)
            if request.timeline:
                _add_timelines(chosen, measurer, request.results, preparation)
        for record in records.values():
            results.write(record, request.results)
        results.write_csv(list(records.values()), request.results)
        charts = _draw(list(records.values()), request.results, ("png",)) if request.plot else []
    _report(list(records.values()), output, quiet=quiet, as_json=as_json)
    if not as_json:
        drawn = f", {len(charts)} charts (*.png)" if charts else ""
        output.print(f"Results in {request.results}: *.json, {results.CSV_NAME}{drawn}", soft_wrap=True)
    failed = any(outcome.reason != NOT_SUPPORTED for record in records.values() for outcome in record.outcomes)
    return ExitCode.FAILED if failed else ExitCode.OK


def plot(folder: Path, formats: Sequence[str], output: Console) -> None:
    """Draws the charts of a results folder. Raises ``UsageError`` for a format that is none."""
    for name in formats:
        if name not in CHART_FORMATS:
            raise UsageError(f"--format {name!r} is none of: {', '.join(CHART_FORMATS)}.")
    for path in _draw(results.read_all(folder), folder, formats):
        output.print(str(path), soft_wrap=True)


def list_scenarios(output: Console) -> None:
    """Prints the table of scenarios."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it is for")
    for scenario in scenarios.ALL:
        table.add_row(scenario.name, scenario.purpose + ("" if scenario.by_default else " [only when named]"))
    output.print(table)


def _checked(request: Request) -> Topology:
    if request.rounds < 1:
        raise UsageError(f"--rounds {request.rounds}: at least 1.")
    if request.processes < 1:
        raise UsageError(f"--processes {request.processes}: at least 1.")
    if request.workers < 1:
        raise UsageError(f"--workers {request.workers}: at least 1.")
    kind = request.topology or ("single" if request.processes == 1 else "cluster")
    if kind not in TOPOLOGY_KINDS:
        raise UsageError(f"--topology {kind!r} is none of: {', '.join(TOPOLOGY_KINDS)}.")
    if kind == "single" and request.processes > 1:
        raise UsageError("--topology single is one process. For more, leave it out, or say --topology launcher.")
    if request.time_limit_s is not None and not request.time_limit_s > 0:
        raise UsageError(f"--time-limit {request.time_limit_s:g}: must be above zero.")
    return Topology(kind, request.processes, request.workers)


def _scenarios(request: Request) -> tuple[Scenario, ...]:
    if request.dataflow is None:
        return scenarios.select(request.scenarios, request.settings)
    if request.settings:
        raise UsageError("--set changes this project's scenarios; parameters of your own dataflow go into its call.")
    own = scenarios.of_user(request.dataflow)
    return (*(scenarios.select(request.scenarios, ()) if request.scenarios else ()), own)


def _earlier(request: Request) -> Mapping[str, Record]:
    if not request.resume or not any(request.results.glob("*.json")):
        return {}
    return {record.scenario: record for record in results.read_all(request.results)}


def _context(
    request: Request,
    recipes: Sequence[Recipe],
    usable: Mapping[str, Environment],
    topology: Topology,
    hyperfine: Hyperfine,
) -> Context:
    return Context(
        revisions=tuple(_described(recipe, usable.get(recipe.revision.label)) for recipe in recipes),
        topology=str(topology),
        mixed_origins=origins.is_mixed(recipes),
        hyperfine_version=hyperfine.version,
        machine=machine.describe(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        argv=request.argv,
    )


def _described(recipe: Recipe, environment: Environment | None) -> dict[str, object]:
    named = {"label": recipe.revision.label, "text": recipe.revision.text, "origin": recipe.origin.value}
    return {**named, **(environment.facts.__dict__ if environment else {"commit": recipe.commit})}


def _records(
    chosen: Sequence[Scenario],
    context: Context,
    earlier: Mapping[str, Record],
    made: Mapping[str, Environment | HarnessError],
) -> dict[str, Record]:
    """A record for each scenario: the earlier one's measurements where a comparison is resumed."""
    records = {}
    for scenario in chosen:
        record = Record(scenario.name, scenario.parameters, context)
        before = earlier.get(scenario.name)
        if before is not None:
            if before.context.identity != context.identity or dict(before.parameters) != dict(scenario.parameters):
                raise UsageError(
                    f"The results of {scenario.name} are of another comparison (revisions, Python, topology or parameters "
                    "differ), so it cannot be resumed. Repeat the command as it was, or leave out --resume."
                )
            record.measurements += before.measurements
        for label, error in made.items():
            if isinstance(error, HarnessError):
                first_line = str(error).splitlines()[0]
                record.add(Outcome(label, plan.WARM_UP, 0, context.started_at, "not-built", first_line, str(error)))
        records[scenario.name] = record
    return records


def _put_aside(folder: Path, cache: Cache, say: Callable[[str], None]) -> None:
    """Moves the results of an earlier comparison out of the way: nothing is lost, and no chart mixes two comparisons."""
    old = [path for suffix in ("json", "csv", "png", "svg") for path in folder.glob(f"*.{suffix}")]
    if old:
        target = cache.folder(f"earlier-results/{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}")
        for path in old:
            # Not rename: the results may be on another file system.
            (target / path.name).write_bytes(path.read_bytes())
            path.unlink()
        say(f"the earlier results in {folder} are now in {target}")


def _add_launcher_cost(
    chosen: Sequence[Scenario], measurer: Measurer, records: Mapping[str, Record], say: PreparationLog
) -> None:
    """One extra run of each revision under bytewax's own launcher, to know what that would have added."""
    extra = replace(measurer, topology=replace(measurer.topology, kind="launcher"))
    for scenario in chosen:
        for label, environment in measurer.environments.items():
            if not is_supported(scenario, environment):
                continue
            say(label, f"one more run of {scenario.name} under bytewax's own launcher")
            result = extra.measure(PlannedRun(scenario, label, plan.WARM_UP, 0))
            if isinstance(result, Measurement) and "time_cpu_launcher" in result.metrics:
                records[scenario.name].launcher_cpu_s[label] = result.metrics["time_cpu_launcher"]


def _add_timelines(chosen: Sequence[Scenario], measurer: Measurer, folder: Path, say: PreparationLog) -> None:
    for scenario in chosen:
        samples = []
        for label, environment in measurer.environments.items():
            if not is_supported(scenario, environment):
                continue
            say(label, f"one more run of {scenario.name}, sampled for its timeline")
            samples += timeline.record(scenario, label, measurer)
        results.write_safely(folder / f"{scenario.name}{timeline.SUFFIX}", timeline.write(samples))


def _draw(records: Sequence[Record], folder: Path, formats: Sequence[str]) -> list[Path]:
    # Here, not above: these take a second to import, which no run and no error message should wait for.
    from harness import charts, statistics

    sampled = {record.scenario: folder / f"{record.scenario}{timeline.SUFFIX}" for record in records}
    timelines = {scenario: timeline.read(path) for scenario, path in sampled.items() if path.exists()}
    return charts.draw_all([statistics.compare(record) for record in records], timelines, folder, formats)


def _report(records: Sequence[Record], output: Console, *, quiet: bool, as_json: bool) -> None:
    from harness import report, statistics

    comparisons = [statistics.compare(record) for record in records]
    if as_json:
        output.print_json(data=report.as_json(comparisons))
        return
    for comparison in comparisons:
        if quiet:
            for sentence in report.sentences(comparison):
                output.print(f"{comparison.scenario}: {sentence}", highlight=False, markup=False, soft_wrap=True)
        else:
            report.print_comparison(comparison, output)
