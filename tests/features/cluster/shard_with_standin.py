"""``waitbench.features.cluster.shard_process`` of the stand-in: what a worker of a test starts."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

if __name__ == "__main__":
    from waitbench.features.cluster.shard_process import end_with_stdin
    from waitbench.system import shutdown, supervisor

    supervisor.start()
    shutdown.handle_signals()
    end_with_stdin()
    import runner

    importlib.import_module("tests.runner_with_standin")
    sys.exit(runner.main())
