"""Starts the command line, for the installed program, ``python -m waitbench``, and runner.py."""

import _signal  # type: ignore[import-not-found]
import posix
import sys


def start() -> int:
    """Runs the command line in a child process. Returns its exit code.

    Handlers for signals and crashes come first, so that no import below can end with a traceback.
    Until ``shutdown`` is imported, they use only modules that are built into the interpreter.
    """
    sys.excepthook = _end_early
    try:
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            # Python's handler would print a traceback of the imports below.
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        for number in (_signal.SIGTERM, _signal.SIGHUP):
            if _signal.getsignal(number) is _signal.SIG_DFL:
                _signal.signal(number, lambda *_: posix._exit(130))
        if sys.flags.no_site:  # ./waitbench starts Python with -S.
            import site

            site.main()
        from waitbench.system import shutdown

        sys.excepthook = shutdown.end_crashed
        shutdown.open_closed_streams()
        from waitbench.system import supervisor

        supervisor.start()  # returns in the child process
        shutdown.handle_signals()
        from waitbench import commands
    except BaseException as error:  # An imported module may even raise SystemExit.
        sys.excepthook(type(error), error, error.__traceback__)
    return commands.main()


def _end_early(kind: type[BaseException], error: BaseException, _where: object) -> None:
    """Ends this process with a message, even if no other module can be imported."""
    posix.write(2, f"waitbench: {kind.__name__}: {error}\n".encode("utf-8", "replace"))
    posix._exit(3)


if __name__ == "__main__":
    sys.exit(start())
