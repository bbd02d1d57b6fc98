"""The command line of a clone: ``./waitbench`` starts it with the libraries in .bench/venv."""

import sys

# By no module: whatever is imported before ``start`` runs may fail, and Python would exit with 1.
sys.path.insert(0, f"{__file__.rpartition('/')[0] or '.'}/src")

from waitbench.__main__ import start

if __name__ == "__main__":
    sys.exit(start())

# For who calls the command line in a process of its own.
from waitbench.commands import COMMANDS, main, make_app

__all__ = ["COMMANDS", "main", "make_app"]
