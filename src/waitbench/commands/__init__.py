"""The command line: parses arguments, calls a command, and turns errors into exit codes."""

import errno
import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

from waitbench import features
from waitbench.commands import help
from waitbench.model.errors import ExitCode, HarnessError, sanitize
from waitbench.system import installation, paths, shutdown, variables

_NAMES = "compare plot report scenarios doctor"
COMMANDS: Mapping[str, str] = {
    **{name: f"waitbench.commands.{name}" for name in _NAMES.split()},
    **features.COMMANDS,
}
"""The module of each command, which has a function of the same name, and ``EXAMPLES`` for its help.

Modules are named rather than imported, as a command starts sooner without those of the others.
"""


def make_app(*names: str) -> typer.Typer:
    """Makes the command line of these commands; of all if none is named, or a name is unknown."""
    app = typer.Typer(
        cls=help.CommandGroup,
        help="Measure the CPU that workers use while they wait, and compare revisions of them.",
        # Shells complete installed programs only, and a clone's scripts are called by path.
        add_completion=paths.IS_INSTALLED,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    # Without a callback, typer would make a single command the whole program.
    app.callback()(_global_options)
    all_names = COMMANDS.keys()
    for name in names if names and all_names >= set(names) else all_names:
        module = import_module(COMMANDS[name])
        command = app.command(
            name,
            cls=help.Subcommand,
            epilog=installation.as_called(getattr(module, "EXAMPLES", "")) or None,
        )
        command(getattr(module, name.replace("-", "_")))
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"waitbench {installation.version()}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version, and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> int:
    """Runs the command line; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # A terminal may lack a character such as ×.
            stream.reconfigure(errors="replace")
    with variables.only_listed():  # of the environment
        message, name = "", installation.program_name()
        try:
            with shutdown.interruptible():
                app = make_app(*sys.argv[1:2])
                code = int(app(prog_name=name, standalone_mode=False) or ExitCode.OK)
        except typer.Exit as ending:
            code = ending.exit_code
        except HarnessError as error:
            code, message = error.exit_code, str(error)
        except TyperException as error:
            code, message = ExitCode.USAGE, f"{error.format_message()} Try --help."
        except (shutdown.Interrupted, KeyboardInterrupt, typer.Abort):
            code, message = ExitCode.INTERRUPTED, f"interrupted. {shutdown.advice()}"
        except (BrokenPipeError, SystemExit):  # typer turns the first into the second.
            # A reader such as head has closed the pipe. Only unfinished work needs a message.
            code = ExitCode.FAILED
            if shutdown.has_advice():
                message = f"the reader of the output went away. {shutdown.advice()}"
        except Exception as error:
            code, message = ExitCode.FAILED, shutdown.explain_crash(error)
        if shutdown.was_interrupted() and code != ExitCode.INTERRUPTED:
            # The interruption caused the other error.
            code, message = ExitCode.INTERRUPTED, f"interrupted. {shutdown.advice()}"
        code = _flush(code)
        if message:
            _print_error(f"{name}: {message}")
        if shutdown.was_interrupted():
            os._exit(code)  # Threads may still be waiting for their children.
        return code


def _print_error(message: str) -> None:
    try:
        print(sanitize(message), file=sys.stderr, flush=True)
    except OSError:
        # Otherwise the interpreter would flush stderr again, and exit with 120.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _flush(code: int) -> int:
    """Flushes stdout. Returns the exit code: 3 if that fails, rather than the interpreter's 120."""
    stream = sys.__stdout__ or sys.stdout
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno != errno.EPIPE:
            with suppress(OSError):
                message = f"the output cannot be written: {error.strerror}."
                print(f"{installation.program_name()}: {message}", file=sys.stderr)
        return int(code or ExitCode.FAILED)
    return code
