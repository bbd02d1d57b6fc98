"""A launcher whom the kernel refuses its counters."""

from waitbench.system.places import PACKAGE

_WITHOUT_COUNTERS = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from waitbench.execution import counted_tree, launch
def refuse(*_arguments, **_options):
    raise PermissionError(1, "Operation not permitted")
counted_tree.counters.TreeCounters = refuse
sys.exit(launch.main(sys.argv[1:]))
"""
REFUSED = ("-c", _WITHOUT_COUNTERS, str(PACKAGE.parent))
"""What Python is given before the launcher's own arguments."""
