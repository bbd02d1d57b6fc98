"""Options of several commands, and the options from which a ``Request`` is made."""

import errno
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import UsageError, masked
from waitbench.model.revision import OriginChoice
from waitbench.pipeline.extension import Extension
from waitbench.pipeline.request import Request
from waitbench.reporting.idle import parse_price
from waitbench.system.paths import RESULTS, Cache, shown

_LONGEST_S = 1e6


def parse_seconds(text: str) -> float:
    number = float(text)
    if not 0 < number <= _LONGEST_S:
        raise typer.BadParameter(f"{text} must be above zero, and at most {_LONGEST_S:g} seconds.")
    return number


# docs/command-line.md has the first paragraph of each help text.
Scenarios = Annotated[
    list[str],
    typer.Option(
        "--scenario",
        "-s",
        metavar="GLOB",
        help="Only these scenarios; repeatable.",
        show_default="the default ones",
    ),
]
Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the scenarios; repeatable."),
]
Processes = Annotated[
    int, typer.Option("--processes", "-p", metavar="N", min=1, help="Processes of each run.")
]
Workers = Annotated[
    int, typer.Option("--workers", "-w", metavar="N", min=1, help="Worker threads of each process.")
]
TopologyKind = Annotated[
    Optional[str],
    typer.Option(
        "--topology",
        metavar="KIND",
        help="Start processes as single, cluster or launcher.\n\n"
        "single: one process. cluster: N processes, as in production. launcher: the engine's own "
        "launcher of N.",
        show_default="single, or cluster of several",
    ),
]
Rounds = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Runs of each revision in each scenario, after one warm-up, in balanced order.",
    ),
]
Budget = Annotated[
    float,
    typer.Option(metavar="SECONDS", parser=parse_seconds, help="Measure no longer than this."),
]
Origin = Annotated[
    OriginChoice,
    typer.Option(
        metavar="KIND",
        help="Take wheels, build from source, or mix both.\n\n"
        "auto (wheels if all have one, else builds), wheel, source, or mixed.",
    ),
]
Python = Annotated[
    Optional[str],
    typer.Option(
        metavar="VERSION|PATH",
        help="The Python of all revisions.",
        show_default="the newest that fits all",
    ),
]
Repo = Annotated[
    Optional[str],
    typer.Option(
        metavar="URL|FOLDER",
        help="The repository of commits, branches and tags.",
        show_default="bytewax on GitHub",
    ),
]
NewResults = Annotated[
    Optional[Path],
    typer.Option(
        "--results",
        metavar="FOLDER",
        help="An empty or new folder for results and charts.",
        show_default=f"a new one in {shown(RESULTS)}/",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted command.\n\nThat of --results, or the latest.",
    ),
]
SavedResults = Annotated[
    Optional[Path],
    typer.Argument(
        metavar="RESULTS", help="A folder of results.", show_default=f"{shown(RESULTS)}/latest"
    ),
]
WorkerFile = Annotated[
    Optional[str],
    typer.Option(
        "--worker",
        metavar="FILE.toml",
        help="Measure the command that this file describes."
        "\n\nThe file decides what a revision is.",
    ),
]
TimeLimit = Annotated[
    Optional[float],
    typer.Option(
        metavar="SECONDS",
        parser=parse_seconds,
        help="Kill a run after this.",
        show_default="by scenario",
    ),
]
FailOn = Annotated[
    list[str],
    typer.Option(
        "--fail-on",
        metavar="CRITERION",
        help="Fail on a rise, such as cpu:5%,20ms; repeatable."
        "\n\nMETRIC:PERCENT%[,ALLOWANCE][,alone][,each]: exit with 1 if a candidate's metric rose "
        "by more. With --gate, it is asked in addition to the default criteria. With 'alone', a "
        "rise of a component, such as wakeups, fails even if CPU fell; 'each' judges every "
        "scenario by itself.",
    ),
]
Limits = Annotated[
    list[str],
    typer.Option(
        "--limit",
        metavar="METRIC:VALUE",
        help="Fail above this, such as idle:0.5%; repeatable."
        "\n\nA budget, also such as wakeups:5/s or memory:80MB. Exit with 1 if a candidate, or "
        "the only revision, certainly needs more, 0 if less, else 3. [limits] of a worker file "
        "apply, too, with --gate or to one revision; this option replaces those of its metric.",
    ),
]
GateDefaults = Annotated[
    bool,
    typer.Option(
        "--gate",
        help="Exit with 1 if a candidate costs more.\n\n"
        "Exit with 0 if every question is answered, and no answer is a regression; with 3 if one "
        "stays open. Adds rounds up to --rounds and --budget.",
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Run scenarios at full length.")]
Plot = Annotated[bool, typer.Option("--plot/--no-plot", help="Draw charts at the end.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no table: only the answer.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout, and all else on stderr.")
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        help="Print figures of each scenario; -vv prints all, and where the time of new runs went."
        "\n\nWith a gate, also all questions.",
    ),
]
CorePrice = Annotated[
    Optional[float],
    typer.Option(
        "--price",
        metavar="AMOUNT/core-hour",
        parser=parse_price,
        help="The price of a core-hour, such as 0.04/core-hour, to show idle cost in money.",
    ),
]


def with_request_options(
    command: Callable[..., None], extensions: Sequence[type[Extension]] = ()
) -> Callable[..., None]:
    """Replaces the parameter ``request`` of a command by all options that a ``Request`` is made of.

    The options of extensions are among them.
    """
    makers: tuple[Callable[..., Any], ...] = (_request, *extensions)
    by_maker = [inspect.signature(maker).parameters for maker in makers]

    @wraps(command)
    def called(**values: Any) -> None:
        request, *parts = (
            maker(**{name: values.pop(name) for name in parameters})
            for maker, parameters in zip(makers, by_maker, strict=True)
        )
        _make_cache(Cache().root)
        command(request=replace(request, extensions=tuple(parts)), **values)

    signature = inspect.signature(command)
    all_parameters = (signature.parameters, *by_maker)
    merged = {name: it for parameters in all_parameters for name, it in parameters.items()}
    del merged["request"]
    # typer reads the annotations and the signature.
    called.__annotations__ = {name: it.annotation for name, it in merged.items()}
    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[it.replace(kind=it.KEYWORD_ONLY) for it in merged.values()]
    )
    return called


def _request(
    scenario: Scenarios = [],
    worker: WorkerFile = None,
    settings: Settings = [],
    processes: Processes = 1,
    workers: Workers = 1,
    topology: TopologyKind = None,
    python: Python = None,
    repo: Repo = None,
    time_limit: TimeLimit = None,
) -> Request:
    return Request(
        revisions=(),
        scenarios=tuple(scenario),
        settings=tuple(settings),
        worker=None if worker is None else worker_file.read(Path(worker)),
        topology=topology,
        processes=processes,
        workers=workers,
        python=python,
        repo=repo,
        time_limit_s=time_limit,
        argv=tuple(map(masked, sys.argv[1:])),
    )


def _make_cache(cache: Path) -> None:
    """Makes the folder of the cache. Raises ``UsageError`` if the user may not write to it."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for folder in (cache, *cache.iterdir()):
            if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"{cache} is not a folder to write to: {why}. Environments are kept there: name "
            "another folder in BENCH_CACHE."
        ) from error
