"""Launches a dataflow, a worker that is a command, or a service.

    python -I -S launch.py REPORT.json WHAT-AS-JSON

The kernel counts, from outside, everything that is started, from before its first instruction: CPU
time, context switches, system calls. The counters are read at the ends of the window and at the
end. What goes wrong is left in the file ``failure`` beside the report, and the exit code is 1: that
makes it an outcome. Otherwise it is that of the first process of a dataflow that failed, 128 + N
for one killed by signal N; so is that of a service.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.execution.counted_tree import CountedTree
from waitbench.execution.launch_report import Failure


def main(arguments: Sequence[str]) -> int:
    """Runs it once; returns the exit code."""
    report, plain = Path(arguments[0]), json.loads(arguments[1])
    tree = CountedTree(plain["tracepoint"])
    try:
        # Only what is needed: a launcher's start is in the real time of a run.
        if "service" in plain:
            from waitbench.execution.service_launch import ServiceLaunch

            return ServiceLaunch(report, plain, tree).run()
        if "command" in plain:
            from waitbench.execution.worker_launch import WorkerLaunch

            return WorkerLaunch(report, plain, tree).run()
        from waitbench.execution.dataflow_launch import DataflowLaunch

        return DataflowLaunch(report, plain, tree).run()
    except Failure as failure:
        report.with_name(failure.said_in).write_text(str(failure))
        return 1
    finally:
        tree.kill_all()


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    sys.stdout.flush()
    # A teardown comes after the report, so its CPU would be missing from it.
    os._exit(exit_code)
