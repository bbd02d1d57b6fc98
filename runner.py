"""The command line of the harness: parses, calls a command, and maps errors to exit codes."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from typer.exceptions import TyperException

from waitbench.environments.origins import OriginChoice
from waitbench.environments.repository import DEFAULT_LOCATION
from waitbench.model.errors import ExitCode, HarnessError
from waitbench.system import places

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
  ./compare.sh main my-branch --fail-on system:10% --fail-on cpu:5% --junit cpu.xml   # the check for CI
"""
_CALIBRATE_EXAMPLES = """
\b
Examples:
  .bench/venv/bin/python runner.py calibrate v0.21.1
  .bench/venv/bin/python runner.py calibrate v0.21.1 --comparisons 40 --fail-on cpu:5% -s 'partitioned*'
"""

_LOAD_EXAMPLES = """
\b
Examples:
  .bench/venv/bin/python runner.py load
  .bench/venv/bin/python runner.py load --mode direct --mode proxy-adaptive --call-cost 40 --rounds 3
  .bench/venv/bin/python runner.py load --url http://127.0.0.1:8080       # a text-embeddings-inference of yours
"""

# Options that several commands have.
Scenarios = Annotated[list[str], typer.Option("--scenario", "-s", metavar="GLOB", help="Only these scenarios; repeatable.")]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the scenarios; repeatable.")
]
Processes = Annotated[int, typer.Option("--processes", "-p", help="Processes of each run.")]
Workers = Annotated[int, typer.Option("--workers", "-w", help="Worker threads of each process.")]
TopologyKind = Annotated[
    Optional[str],
    typer.Option(
        "--topology",
        metavar="KIND",
        help="single: one process. cluster: N processes, as in production. launcher: bytewax's own -p N. Default: single, or "
        "cluster for more than one process.",
    ),
]
Origin = Annotated[
    OriginChoice,
    typer.Option(help="wheel: from the package index. source: built here. auto: wheels if all revisions have one."),
]
Python = Annotated[
    Optional[str], typer.Option(metavar="VERSION|PATH", help="Instead of the newest that fits all revisions.")
]
Repo = Annotated[
    str, typer.Option(envvar="BYTEWAX_REPO", metavar="URL|FOLDER", help="Where commits, branches and tags are.")
]
Results = Annotated[Path, typer.Option(metavar="FOLDER", help="Where results and charts go.")]
TimeLimit = Annotated[Optional[float], typer.Option(metavar="SECONDS", help="Kill a run after this. Default: by scenario.")]
MostRounds = Annotated[int, typer.Option("--max-rounds", help="Of the check: give up on a verdict after so many rounds.")]
Full = Annotated[
    bool, typer.Option("--full", help="Of the check: scenarios of full length, instead of about 1 s of waiting.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table: only the sentences.")]


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
    scenario: Scenarios = [],
    rounds: Annotated[int, typer.Option(help="Runs of each revision in each scenario, after one warm-up.")] = 5,
    processes: Processes = 1,
    workers: Workers = 1,
    topology: TopologyKind = None,
    dataflow: Annotated[
        Optional[str],
        typer.Option(metavar="FILE.py:CALL", help="Measure a dataflow of yours, instead of the scenarios."),
    ] = None,
    settings: Settings = [],
    fail_on: Annotated[
        list[str],
        typer.Option(
            metavar="METRIC:PCT%[,FLOOR][,alone]",
            help="The check for CI: exit 1 if a candidate's metric rose by more, such as system:10% or cpu:5%,20ms; repeatable. "
            "Rounds are added until the verdicts are settled.",
        ),
    ] = [],
    max_rounds: MostRounds = 30,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="Of the check: no new round after this much measuring.")
    ] = 1800,
    strict: Annotated[bool, typer.Option("--strict", help="Of the check: an unclear verdict fails too.")] = False,
    full: Full = False,
    markdown: Annotated[Optional[Path], typer.Option(metavar="FILE", help="Of the check: the verdict as Markdown.")] = None,
    junit: Annotated[Optional[Path], typer.Option(metavar="FILE", help="Of the check: the verdict as JUnit XML.")] = None,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="One extra run of each revision, drawn as CPU share over time.")
    ] = False,
    launcher_cost: Annotated[
        bool, typer.Option("--launcher-cost", help="One extra run of each under bytewax's own launcher: what it adds.")
    ] = False,
    origin: Origin = OriginChoice.AUTO,
    python: Python = None,
    repo: Repo = DEFAULT_LOCATION,
    results: Results = places.RESULTS,
    time_limit: TimeLimit = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted comparison in the same folder.")
    ] = False,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw charts at the end.")] = True,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="The comparison as JSON on stdout, progress on stderr.")] = False,
) -> None:
    """Build an environment for each revision, measure them side by side, tabulate, chart."""
    from waitbench.cli import compare as command
    from waitbench.cli.preparation import Request

    request = Request(
        tuple(revisions or ()), tuple(scenario), tuple(settings), topology, processes, workers, dataflow, origin, python,
        repo, results, time_limit, tuple(sys.argv[1:]),
    )  # fmt: skip
    options = command.Options(rounds, resume, plot, timeline, launcher_cost, quiet, as_json)
    check = command.Check(tuple(fail_on), max_rounds, budget, strict, full, markdown, junit)
    output = Console(highlight=False)
    progress = Console(stderr=True, highlight=False) if as_json else output
    raise typer.Exit(command.compare(request, options, check, output, progress))


@app.command(epilog="\b\nExamples:\n  ./plot.sh\n  ./plot.sh results --format svg\n  ./plot.sh --format png --format svg")
def plot(
    results: Annotated[Path, typer.Argument(metavar="[RESULTS]", help="A folder of results.")] = places.RESULTS,
    formats: Annotated[list[str], typer.Option("--format", "-f", metavar="png|svg", help="Repeatable.")] = ["png"],
) -> None:
    """Draw the charts of a folder of results."""
    from waitbench.cli import charts

    charts.plot(results, formats, Console(highlight=False))


@app.command(epilog=_LOAD_EXAMPLES)
def load(
    mode: Annotated[
        list[str],
        typer.Option(
            help="direct, proxy-fixed, proxy-fixed-1 or proxy-adaptive; repeatable. Default: all, one after the other."
        ),
    ] = [],
    connections: Annotated[int, typer.Option("--connections", "-c", help="Clients at once.")] = 200,
    duration: Annotated[float, typer.Option("--duration", "-z", metavar="SECONDS", help="Of each mode's load.")] = 30,
    inputs: Annotated[int, typer.Option(help="Texts in each request.")] = 2,
    call_cost: Annotated[
        float, typer.Option(metavar="MILLISECONDS", help="A fixed part of the cost of each call to our embedder.")
    ] = 0,
    rounds: Annotated[
        int, typer.Option(help="Loads of each mode, one mode after the other. Figures are medians of the rounds.")
    ] = 1,
    url: Annotated[
        Optional[str], typer.Option(metavar="URL", help="Any text-embeddings-inference, instead of our embedder.")
    ] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the figures go.")] = places.RESULTS / "embedding",
) -> None:
    """Put a load of clients on an embedding service, directly and through a proxy that batches, side by side.

    With oha on PATH it makes the load; else a small client of ours, which also checks a sample of the answers.
    """
    from waitbench.families.embedding import command

    options = command.LoadOptions(tuple(mode), connections, duration, inputs, call_cost, rounds, url, results)
    raise typer.Exit(command.put_load(options, Console(highlight=False)))


@app.command(
    "paged-output",
    epilog="\b\nExamples:\n  .bench/venv/bin/python runner.py paged-output\n  .bench/venv/bin/python runner.py paged-output "
    "--repetitions 3 --largest 100000",
)
def paged_output(
    repetitions: Annotated[int, typer.Option(help="Runs of each side of each row; medians are shown.")] = 5,
    largest: Annotated[Optional[int], typer.Option(metavar="MESSAGES", help="No rows with more messages.")] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the figures go.")] = places.RESULTS
    / "paged-output",
) -> None:
    """Write messages one by one and in pages, side by side: the published tables, load shedding, memory, CPU."""
    from waitbench.families.paged_output import command

    options = command.PagingOptions(repetitions, largest, results)
    raise typer.Exit(command.paged_output(options, Console(highlight=False)))


@app.command(epilog="\b\nExamples:\n  runner.py report results\n  runner.py report results/scoring --markdown scoring.md")
def report(
    results: Annotated[Path, typer.Argument(metavar="[RESULTS]", help="A folder of results.")] = places.RESULTS,
    markdown: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="The tables of the families, such as scoring, as Markdown.")
    ] = None,
) -> None:
    """Print the tables of a folder of results."""
    from waitbench.cli import charts

    charts.report(results, markdown, Console(highlight=False))


@app.command()
def scenarios() -> None:
    """List the scenarios, and what each is for."""
    from waitbench.cli import charts

    charts.list_scenarios(Console(highlight=False))


@app.command(epilog=_CALIBRATE_EXAMPLES)
def calibrate(
    revision: Annotated[str, typer.Argument(metavar="REVISION")],
    comparisons: Annotated[int, typer.Option(help="How often to compare it with itself.")] = 20,
    fail_on: Annotated[list[str], typer.Option(metavar="METRIC:PCT%", help="As of compare.")] = ["system:10%", "cpu:10%"],
    max_rounds: MostRounds = 10,
    full: Full = False,
    scenario: Scenarios = [],
    settings: Settings = [],
    processes: Processes = 1,
    workers: Workers = 1,
    topology: TopologyKind = None,
    origin: Origin = OriginChoice.AUTO,
    python: Python = None,
    repo: Repo = DEFAULT_LOCATION,
    results: Results = places.ROOT / ".bench" / "calibration",
    time_limit: TimeLimit = None,
    quiet: Quiet = False,
) -> None:
    """Compare a revision with itself many times: the check's rate of false alarms here, and what it can find.

    Comparisons that are in the results folder already are kept and counted, so a stopped calibration goes on where it was.
    """
    from waitbench.cli import calibrate as command
    from waitbench.cli.preparation import Request

    request = Request(
        (revision,), tuple(scenario), tuple(settings), topology, processes, workers, None, origin, python, repo, results,
        time_limit, tuple(sys.argv[1:]),
    )  # fmt: skip
    options = command.CalibrationOptions(comparisons, tuple(fail_on), max_rounds, full, quiet)
    raise typer.Exit(command.calibrate(request, options, Console(highlight=False)))


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
        kept = "Finished runs are kept; the same command with --resume goes on."
        print(f"{_program()}: interrupted. {kept}", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except TyperException as error:
        print(f"{_program()}: {error.format_message()} Try --help.", file=sys.stderr)
        return ExitCode.USAGE


def _program() -> str:
    return os.environ.get("BENCH_PROGRAM", "runner.py")


if __name__ == "__main__":
    sys.exit(main())
