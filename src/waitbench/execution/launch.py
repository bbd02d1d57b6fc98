"""Launches a dataflow, a worker of a worker file, or a service.

    python -I -S launch.py REPORT.json CONFIGURATION-AS-JSON

The kernel counts all processes from before their first instruction. The launcher reads the counters
at both ends of the window, and at the end of the run. If the run is not a measurement, its reason
is in the file ``failure`` beside the report, and the exit code is 1. Otherwise the exit code is
that of a service, or of the first process of a dataflow that failed: 128 + N for signal N.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from waitbench.execution.counted_tree import CountedTree
from waitbench.execution.launch_report import Failure, HasEnded, write
from waitbench.model.launch import LaunchConfig, ServiceConfig, WorkerConfig, decode


def main(arguments: Sequence[str]) -> int:
    report = Path(arguments[0])
    config: LaunchConfig = decode(arguments[1])
    program, tree = config.program, CountedTree(config.tracepoint)
    try:
        # Imports only the modules it needs: the launcher's start is in the real time of a run.
        if isinstance(program, ServiceConfig):
            from waitbench.execution.service_launch import ServiceLaunch

            return ServiceLaunch(report, program, tree).run()
        if isinstance(program, WorkerConfig):
            from waitbench.execution.worker_launch import WorkerLaunch

            return WorkerLaunch(report, program, config, tree).run()
        from waitbench.execution.dataflow_launch import DataflowLaunch

        return DataflowLaunch(report, program, tree).run()
    except (Failure, HasEnded) as reason:
        write(report.with_name(reason.file), str(reason))
        return 1
    finally:
        tree.kill_all()


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    sys.stdout.flush()
    # Without Python's teardown, as its CPU would be missing from the report.
    os._exit(exit_code)
