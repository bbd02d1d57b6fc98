"""The command line of the stand-in: what a user would run, if that were under test."""

import math
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from waitbench.system import shutdown, supervisor

if __name__ == "__main__":
    supervisor.start()
    shutdown.handle_signals()

import runner
from tests.standin import StandIn
from waitbench import engines
from waitbench.execution import session
from waitbench.system import machine

if not os.environ.get("BENCH_BYTEWAX"):
    engines.DEFAULT = StandIn()
if os.environ.get("BENCH_UNWATCHED"):
    # What a test expects must not depend on what else its machine does.
    machine.OTHER_CORES = math.inf
    session.OTHER_ALLOWED_S = math.inf  # type: ignore[attr-defined]

if __name__ == "__main__":
    sys.exit(runner.main())
