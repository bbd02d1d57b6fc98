"""The command line of the harness: parses, calls the stations in order, and maps errors to exit codes."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from typer.exceptions import TyperException

from harness import places
from harness.errors import ExitCode, HarnessError
from harness.origins import OriginChoice

app = typer.Typer(
    help="Measures the CPU that stream-processing workers use while they wait, across revisions of bytewax.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

_COMPARE_EXAMPLES = """
\b
Examples:
  ./compare.sh v0.16.0 v0.16.1
  ./compare.sh v0.16.0 2fa6676c --scenario 'partitioned*'
  ./compare.sh main my-branch ~/src/bytewax --rounds 10
  ./compare.sh before=main after=./bytewax --origin source
  ./compare.sh A=v0.21.1 B=v0.21.1            # compare a revision with itself: how noisy is this machine?
  ./compare.sh v0.16.0 v0.16.1 --processes 2 --timeline
  ./compare.sh v0.20.1 v0.21.1 --dataflow examples/basic.py:flow
"""


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    revisions: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="REVISION...",
            help="The baseline, then the candidates: a release, commit, branch, tag, checkout folder, .whl file, or "
            "LABEL=REVISION.",
        ),
    ] = None,
    scenario: Annotated[
        list[str], typer.Option("--scenario", "-s", metavar="GLOB", help="Only these scenarios; repeatable.")
    ] = [],
    rounds: Annotated[int, typer.Option(help="Runs of each revision in each scenario, after one warm-up.")] = 5,
    processes: Annotated[int, typer.Option("--processes", "-p", help="Processes of each run.")] = 1,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Worker threads of each process.")] = 1,
    topology: Annotated[
        Optional[str],
        typer.Option(
            metavar="KIND",
            help="single: one process. cluster: N processes, as in production. launcher: bytewax's own -p N. Default: "
            "single, or cluster for more than one process.",
        ),
    ] = None,
    dataflow: Annotated[
        Optional[str], typer.Option(metavar="FILE.py:CALL", help="Measure a dataflow of yours, instead of the scenarios.")
    ] = None,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="One extra run of each revision, drawn as CPU share over time.")
    ] = False,
    launcher_cost: Annotated[
        bool, typer.Option("--launcher-cost", help="One extra run of each under bytewax's own launcher: what it adds.")
    ] = False,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the scenarios; repeatable.")
    ] = [],
    origin: Annotated[
        OriginChoice,
        typer.Option(help="wheel: from the package index. source: built here. auto: wheels if all revisions have one."),
    ] = OriginChoice.AUTO,
    python: Annotated[
        Optional[str], typer.Option(metavar="VERSION|PATH", help="Instead of the newest that fits all revisions.")
    ] = None,
    repo: Annotated[
        str, typer.Option(envvar="BYTEWAX_REPO", metavar="URL|FOLDER", help="Where commits, branches and tags are.")
    ] = "https://github.com/bytewax/bytewax.git",
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Where results and charts go.")] = places.RESULTS,
    time_limit: Annotated[
        Optional[float], typer.Option(metavar="SECONDS", help="Kill a run after this. Default: by scenario.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted comparison in the same folder.")
    ] = False,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw charts at the end.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table: only the sentences.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The comparison as JSON on stdout, progress on stderr.")] = False,
) -> None:
    """Build an environment for each revision, measure them side by side, tabulate, chart."""
    from harness import commands

    request = commands.Request(
        revisions=tuple(revisions or ()),
        scenarios=tuple(scenario),
        settings=tuple(settings),
        rounds=rounds,
        topology=topology,
        processes=processes,
        workers=workers,
        dataflow=dataflow,
        timeline=timeline,
        launcher_cost=launcher_cost,
        origin=origin,
        python=python,
        repo=repo,
        results=results,
        time_limit_s=time_limit,
        resume=resume,
        plot=plot,
        argv=tuple(sys.argv[1:]),
    )
    output = Console(highlight=False)
    progress = Console(stderr=True, highlight=False) if as_json else output
    raise typer.Exit(commands.compare(request, output, progress, quiet=quiet, as_json=as_json))


@app.command(epilog="\b\nExamples:\n  ./plot.sh\n  ./plot.sh results --format svg\n  ./plot.sh --format png --format svg")
def plot(
    results: Annotated[Path, typer.Argument(metavar="[RESULTS]", help="A folder of results.")] = places.RESULTS,
    formats: Annotated[list[str], typer.Option("--format", "-f", metavar="png|svg", help="Repeatable.")] = ["png"],
) -> None:
    """Draw the charts of a folder of results."""
    from harness import commands

    commands.plot(results, formats, Console(highlight=False))


@app.command()
def scenarios() -> None:
    """List the scenarios, and what each is for."""
    from harness import commands

    commands.list_scenarios(Console(highlight=False))


def main() -> int:
    """Runs the command line; returns its exit code."""
    # A terminated harness stops as cleanly as an interrupted one.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(standalone_mode=False)
        return int(code or ExitCode.OK)
    except typer.Exit as ending:
        return ending.exit_code
    except HarnessError as error:
        print(f"{_program()}: {error}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print(
            f"{_program()}: interrupted. Finished runs are kept; the same command with --resume goes on.", file=sys.stderr
        )
        return ExitCode.INTERRUPTED
    except TyperException as error:
        print(f"{_program()}: {error.format_message()} Try --help.", file=sys.stderr)
        return ExitCode.USAGE


def _program() -> str:
    return os.environ.get("BENCH_PROGRAM", "runner.py")


if __name__ == "__main__":
    sys.exit(main())
