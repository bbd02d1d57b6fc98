"""``track``: measures revisions that the history lacks, and announces change points."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Optional

import msgspec
import typer

from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.environments import ranges
from waitbench.environments.revisions import spec_of
from waitbench.features.history import view
from waitbench.features.history.history import AnchorOption, MetricOption
from waitbench.features.history.sessions import Stored, Tried, name_of, read
from waitbench.features.history.trends import Announced, Trend, most_measured, trends, unannounced
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Series
from waitbench.model.revision import EnvironmentSpec, Origin, Source
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import conclude
from waitbench.pipeline.gating import metric_named
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.reporting.output import Output
from waitbench.store import formats
from waitbench.system.paths import RESULTS

EXAMPLES = """
\b
Examples:
  ./waitbench track --anchor v0.21.1                    # releases
  ./waitbench track main --anchor v0.21.1 --budget 3600 -s 'partitioned*' -s 'dynamic*'
  ./waitbench track main --results nightly/results
"""

_ANNOUNCED = "acknowledged"
"""The name of the file of announced change points."""


class _AnnouncedFile(msgspec.Struct, tag_field="kind", tag=_ANNOUNCED):
    """The change points that were announced, and will not be announced again."""

    change_points: list[Announced]


@with_request_options
def track(
    branch: Annotated[
        Optional[str],
        typer.Argument(
            metavar="BRANCH",
            help="Measure its commits along first parents.",
            show_default="releases",
        ),
    ] = None,
    anchor: AnchorOption = None,
    newest: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many releases, or commits, to go back.")
    ] = 10,
    budget: options.Budget = 3600,
    rounds: options.Rounds = 5,
    metric: MetricOption = "idle",
    *,
    request: Request,
    full: options.Full = False,
    results: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The history: a folder that contains folders of results.",
            show_default="results",
        ),
    ] = RESULTS,
    quiet: options.Quiet = False,
) -> None:
    """Measure what the history lacks: new revisions, and change points that need a second session.

    Each is compared with the anchor. A change point is announced once, when a second session
    confirms it; the exit code is 1 if a cost rose.
    """
    followed = metric_named(metric, BY_NAME.values(), f"--metric {metric!r}")
    begun, output = time.monotonic(), Output(quiet=quiet)
    console = output.answers

    def stored() -> Stored:
        return read([results], followed) if results.is_dir() else Stored()

    before = stored()
    anchor = anchor or _default_anchor(before, request.engine.name)
    ends = (anchor, *([branch] if branch else []))
    nightly = replace(request, rounds=rounds, quick=not full, store=results, resume=None)
    valid = validate(replace(nightly, revisions=ends), output.log)
    anchor_name = _history_name(valid.specs[0], before)
    sources = {**_candidates(branch, valid, newest), anchor_name: valid.specs[0].source}
    # Labels are short, and the same every night.
    specs = {name: spec_of(name, source, valid.engine) for name, source in sources.items()}
    complete = measured(before.tried, valid.engine.name, series_of(valid), anchor_name)
    queue = due(specs, complete, anchor_name, _trends(before, valid, anchor_name))
    code = ExitCode.OK
    for number, (names, why) in enumerate(queue.items(), 1):
        console.print(f"{number} of {len(queue)}: {' '.join(names)}: {why}")
        if time.monotonic() - begun > budget:
            console.print("The budget is spent: the next call continues from here.")
            break
        revisions = tuple(specs.get(name, name) for name in names)
        try:
            with run(replace(nightly, revisions=revisions), output) as contents:
                code = max(code, conclude(contents, output))
        except HarnessError as error:
            # Other comparisons can still be made.
            console.print(str(error), soft_wrap=True)
            code = max(code, ExitCode.FAILED)
    if not queue:
        console.print("Nothing is missing from the history.")
    histories = _trends(stored(), valid, anchor_name)
    file = formats.read(results, _ANNOUNCED, _AnnouncedFile)
    known = frozenset(file.change_points if file else ())
    new = unannounced(histories, known)
    for trend, point in new:
        where = f"{view.title_of(trend, histories)}: {trend.metric.title} from {point.after} on"
        console.print(f"{where}: {view.text_of(point)}.")
    if new:
        known = known.union(trend.announcement(point) for trend, point in new)
        formats.write(results, _ANNOUNCED, {"change_points": msgspec.to_builtins(sorted(known))})
    has_risen = any(point.is_rise for _, point in new)
    raise typer.Exit(max(code, ExitCode.REGRESSION if has_risen else ExitCode.OK))


def _default_anchor(stored: Stored, engine: str) -> str:
    """The revision that most sessions measured. Raises ``UsageError`` without sessions."""
    anchor = most_measured(it for it in stored.sessions if it.engine == engine)
    if anchor is None:
        raise UsageError(
            "There is no history yet. Name the anchor, which each session measures, such as: "
            "--anchor v0.21.1"
        )
    return anchor


def _trends(stored: Stored, valid: ValidRequest, anchor: str) -> Sequence[Trend]:
    """The trends of the requested scenarios with their present parameters."""
    series = set(series_of(valid))
    sessions = [it for it in stored.sessions if it.engine == valid.engine.name]
    return trends([it for it in sessions if it.series in series], anchor)


def _candidates(branch: str | None, valid: ValidRequest, newest: int) -> Mapping[str, Source]:
    """The newest revisions by their names in histories, oldest first."""
    if branch is None:
        sources = ranges.newest(valid.engine, valid.specs[0].python, newest)
    else:
        points = ranges.commits(valid.engine, valid.repository, *valid.specs).points
        sources = [point.source for point in points[1:][-newest:]]
    return {name_of(source): source for source in sources}


def _history_name(anchor: EnvironmentSpec, stored: Stored) -> str:
    """The name of the anchor in the history. Raises ``UsageError`` for code that may change."""
    if not (anchor.source.origin.is_release or anchor.source.origin is Origin.SOURCE):
        raise UsageError(f"--anchor {anchor.label} may change: name a release or a commit.")
    name = name_of(anchor.source)
    sessions = (it for it in stored.sessions if it.engine == anchor.engine)
    known = {it.name for session in sessions for it in session.logs}
    # The release 0.21 is 0.21.0.
    return next((it for it in (name, f"{name}.0", f"{name}.0.0") if it in known), name)


def series_of(valid: ValidRequest) -> list[Series]:
    return [Series.of(it, valid.topology) for it in valid.scenarios]


def due(
    candidates: Iterable[str], complete: Collection[str], anchor: str, trends: Sequence[Trend]
) -> dict[tuple[str, ...], str]:
    """The comparisons to make: tuples of revisions, the anchor first, each with its reason.

    Provisional change points come first, for a second session; then candidates that are not in
    ``complete``, the newest first. ``candidates`` are names in order of history.
    """
    reasons: dict[tuple[str, ...], str] = {
        tuple(dict.fromkeys((anchor, point.before, point.after))): (
            f"only one session says that {point.after} differs from {point.before}"
        )
        for trend in trends
        for point in trend.change_points
        if point.is_provisional
    }
    for name in reversed(list(candidates)):
        if name not in complete and name != anchor:
            reasons[anchor, name] = f"{name} is not measured"
    return reasons


def measured(
    tried: Collection[Tried], engine: str, series: Sequence[Series], anchor: str
) -> frozenset[str]:
    """The names of the revisions that were tried beside the anchor in all of these series."""
    by_series = [
        frozenset[str]().union(*(it for *of, it in tried if of == [engine, each] and anchor in it))
        for each in series
    ]
    return frozenset.intersection(*by_series)
