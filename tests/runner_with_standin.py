"""The command line with one more engine: what a user of that engine would run."""

import math
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from waitbench.system import endings

if __name__ == "__main__":
    endings.own_signals()

import runner
from tests.standin import StandIn
from waitbench import engines
from waitbench.system import watch

engines.register(StandIn())
if os.environ.get("BENCH_UNWATCHED"):
    # What a test expects must not depend on what else its machine does.
    watch.FOREIGN_CORES = math.inf

if __name__ == "__main__":
    sys.exit(runner.main())
