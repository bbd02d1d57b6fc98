"""The command line of a clone, which ``./waitbench`` starts with the libraries in .bench/venv."""

import sys

# Without ``pathlib``: if an import failed before ``start`` runs, Python would exit with 1, which
# means a regression.
sys.path.insert(0, f"{__file__.rpartition('/')[0] or '.'}/src")

from waitbench.__main__ import start

if __name__ == "__main__":
    sys.exit(start())

# For tests, which call the command line without a new process.
from waitbench.commands import COMMANDS, main, make_app

__all__ = ["COMMANDS", "main", "make_app"]
