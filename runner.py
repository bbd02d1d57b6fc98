"""The command line of waitbench: parses, calls one command, and maps errors to exit codes."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

import typer
from typer.exceptions import TyperException

from waitbench import families
from waitbench.cli import calibrate, compare, doctor, plot, report, scenarios
from waitbench.families.base import Command
from waitbench.model.errors import ExitCode, HarnessError

COMMANDS = (
    Command(name="compare", function=compare.compare, epilog=compare.EXAMPLES),
    Command(name="plot", function=plot.plot, epilog=plot.EXAMPLES),
    Command(name="report", function=report.report, epilog=report.EXAMPLES),
    Command(name="scenarios", function=scenarios.scenarios, epilog=""),
    Command(name="calibrate", function=calibrate.calibrate, epilog=calibrate.EXAMPLES),
    Command(name="doctor", function=doctor.doctor, epilog=""),
    *families.commands(),
)


def make_app() -> typer.Typer:
    """The command line with every command."""
    app = typer.Typer(
        help="Measures the CPU that stream-processing workers use while they wait, across "
        "revisions of bytewax.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    for command in COMMANDS:
        app.command(command.name, epilog=command.epilog or None)(command.function)
    return app


def main() -> int:
    """Runs the command line; returns its exit code."""
    # A terminated harness stops as cleanly as an interrupted one.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = make_app()(standalone_mode=False)
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
