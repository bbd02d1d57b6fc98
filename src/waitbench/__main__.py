"""Starts the command line: the installed program, ``python -m waitbench``, a clone's runner.py."""

import _signal  # type: ignore[import-not-found]
import posix
import sys


def start() -> int:
    """Runs the command line in a process of its own. Returns its exit code.

    Signals, closed streams and crashes are taken care of before anything else is imported, by
    modules that need no file to be imported.
    """
    sys.excepthook = _end_early
    try:
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            # Python's own handler would print where the imports below are.
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        for number in (_signal.SIGTERM, _signal.SIGHUP):
            if _signal.getsignal(number) is _signal.SIG_DFL:
                _signal.signal(number, lambda *_: posix._exit(130))
        if sys.flags.no_site:  # as ./waitbench starts it
            import site

            site.main()
        from waitbench.system import shutdown

        sys.excepthook = shutdown.end_crashed
        shutdown.open_closed_streams()
        from waitbench.system import supervisor

        supervisor.start()
        shutdown.handle_signals()
        from waitbench import commands
    except BaseException as error:  # SystemExit of a strange module, too
        sys.excepthook(type(error), error, error.__traceback__)
    return commands.main()


def _end_early(kind: type[BaseException], error: BaseException, _where: object) -> None:
    """Ends this process where even the module that explains it cannot be imported."""
    posix.write(2, f"waitbench: {kind.__name__}: {error}\n".encode("utf-8", "replace"))
    posix._exit(3)


if __name__ == "__main__":
    sys.exit(start())
