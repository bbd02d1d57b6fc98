"""The command line: parses, calls one command, and maps errors to exit codes."""

import errno
import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand
from typer.exceptions import TyperException

from waitbench.model.errors import ExitCode, HarnessError
from waitbench.system import (
    crashes,
    endings,
    installation,
    places,
    streams,
    variables,
)

COMMANDS: Mapping[str, str] = {
    **{
        name: f"waitbench.commands.{name}"
        for name in (
            "compare",
            "merge",
            "plot",
            "report",
            "history",
            "track",
            "bisect",
            "workers",
            "look",
            "scenarios",
            "doctor",
        )
    },
}
"""The module of each command: its function of that name, and ``EXAMPLES`` that its help ends with.

Modules are imported by name: to start one command loads what that one takes.
"""


class _Command(TyperCommand):
    """A command whose usage is what the user types, with arguments as other programs write them."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        arguments = [param for param in self.get_params(ctx) if isinstance(param, TyperArgument)]
        names = [f"{one.metavar}{'' if one.nargs == 1 else '...'}" for one in arguments]
        pieces = [
            name if one.required else f"[{name}]"
            for one, name in zip(arguments, names, strict=True)
        ]
        formatter.write_usage(
            installation.called(str(ctx.info_name)), " ".join(["[OPTIONS]", *pieces])
        )


def make_app(*names: str) -> typer.Typer:
    """The command line with these commands; with every one if none is named, or an unknown one."""
    app = typer.Typer(
        help="Measures the CPU that stream-processing workers use while they wait, across "
        "revisions of bytewax.",
        no_args_is_help=True,
        # A clone's scripts are called by their paths: a shell completes what is installed.
        add_completion=places.IS_INSTALLED,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    # With a callback, or typer would take the only command for the program.
    app.callback()(_before)
    known = COMMANDS.keys()
    for name in names if names and known >= set(names) else known:
        module = import_module(COMMANDS[name])
        command = app.command(
            name,
            cls=_Command,
            epilog=installation.as_called(getattr(module, "EXAMPLES", "")) or None,
        )
        command(getattr(module, name.replace("-", "_")))
    return app


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"waitbench {installation.version()}")
        raise typer.Exit


def _before(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version, and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> int:
    """Runs the command line; returns its exit code."""
    streams.open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may have no character for ×
            stream.reconfigure(errors="replace")
    with variables.only_listed():
        code, said = _run()
        if endings.was_ended():
            # Threads may still be waiting for what they have started.
            endings.kill_descendants()
        code = _flush(code)
        if said:
            with suppress(OSError):
                said = streams.printable(f"{installation.program_name()}: {said}")
                print(said, file=sys.stderr, flush=True)
        if endings.was_ended():
            os._exit(code)
        return code


def _run() -> tuple[int, str]:
    """The exit code, and what is to be said on stderr."""
    said = ""
    try:
        with endings.interruptible():
            code = int(
                make_app(*sys.argv[1:2])(
                    prog_name=installation.program_name(), standalone_mode=False
                )
                or ExitCode.OK
            )
    except typer.Exit as ending:
        code = ending.exit_code
    except HarnessError as error:
        code, said = error.exit_code, str(error)
    except TyperException as error:
        code, said = ExitCode.USAGE, f"{error.format_message()} Try --help."
    except (endings.Ended, KeyboardInterrupt, typer.Abort):
        code, said = ExitCode.INTERRUPTED, f"interrupted. {endings.note()}"
    except (BrokenPipeError, SystemExit):  # typer makes the one of the other
        # Whoever reads has had enough, as head has: that is no news, but for what is unfinished.
        code, said = ExitCode.FAILED, ""
        if endings.has_note():
            said = f"the reader of the output went away. {endings.note()}"
    except Exception as error:
        code, said = ExitCode.FAILED, crashes.explain(error)
    if endings.was_ended() and code != ExitCode.INTERRUPTED:
        # What the end of it broke is no news.
        code, said = ExitCode.INTERRUPTED, f"interrupted. {endings.note()}"
    return code, said


def _flush(code: int) -> int:
    """Writes out what is left; 3 where it cannot be written: the interpreter would say 120."""
    stream = sys.__stdout__ or sys.stdout
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno != errno.EPIPE:
            with suppress(OSError):
                said = f"the output cannot be written: {error.strerror}."
                print(f"{installation.program_name()}: {said}", file=sys.stderr)
        return int(code or ExitCode.FAILED)
    return code
