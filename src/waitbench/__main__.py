"""Starts the command line: the installed program, ``python -m waitbench``, a clone's runner.py."""

import _signal  # type: ignore[import-not-found]
import sys


def start() -> int:
    """Runs the command line in a process of its own. Returns its exit code.

    Signals, closed streams and crashes are taken care of before anything else is imported.
    """
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # Python's own handler would print where the imports below are.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from waitbench.system import crashes, streams

    sys.excepthook = crashes.end
    streams.open_closed()
    from waitbench.system import endings

    endings.own_signals()
    from waitbench import commands

    return commands.main()


if __name__ == "__main__":
    sys.exit(start())
