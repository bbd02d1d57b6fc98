"""The command line of a clone: ``./waitbench`` starts it with the libraries in .bench/venv."""

import _signal  # type: ignore[import-not-found]
import sys

if __name__ == "__main__":
    # First of all, and with what needs no file to be imported: at an interrupt, Python's own
    # handler would print where the imports below are.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if sys.flags.no_site:
        import site

        site.main()

from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from waitbench.__main__ import start

if __name__ == "__main__":
    sys.exit(start())

# For who calls the command line in a process of its own.
from waitbench.commands import COMMANDS, main, make_app

__all__ = ["COMMANDS", "main", "make_app"]
