"""What is counted of a run: all that it starts, whenever it starts it and wherever it moves to."""

import json
import sys
from pathlib import Path

import pytest

from waitbench.execution.accounting import instrumented_metrics
from waitbench.execution.bench import PROBE_DIRECTORY, ReadyRun
from waitbench.execution.services import Running
from waitbench.system.instruments import find_system_calls
from waitbench.system.places import DATAFLOWS

COUNTER = find_system_calls()
needs_counter = pytest.mark.skipif(COUNTER.tracepoint is None, reason=COUNTER.reason)

CALLS = 5000
CALL = f"for _ in range({CALLS}): os.getppid()"

THREAD = f"""
import os, threading
begin, done = threading.Event(), threading.Event()
def call():
    begin.wait()
    {CALL}
    done.set()
threading.Thread(target=call, daemon=True).start()

from support import probe
probe.first_poll()
begin.set()
done.wait()
probe.end_of_input()
"""

CHILD = f"""
import os
begin, done = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(begin[0], 1)
    {CALL}
    os.write(done[1], b"x")
    os._exit(0)

from support import probe
probe.first_poll()
os.write(begin[1], b"x")
os.read(done[0], 1)
probe.end_of_input()
"""

DAEMON = CHILD.replace(
    "if os.fork() == 0:\n", "if os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
)


def seen(folder: Path, workload: str, **more: object) -> dict[str, float]:
    """What an instrumented run of a workload gives."""
    (folder / "probes").mkdir()
    launch = (sys.executable, "-I", "-S", str(DATAFLOWS / "support" / "launch.py"))
    ready = ReadyRun(
        folder=folder, working_folder=folder,
        command=(*launch, str(folder / "launched.json"), "1", sys.executable, "-c", workload),
        variables={PROBE_DIRECTORY: str(folder / "probes"), "PYTHONPATH": str(DATAFLOWS)},
        time_limit_s=60, services=Running(()), **more,  # type: ignore[arg-type]
    )  # fmt: skip
    with (folder / "output").open("wb") as output:
        ready.carry_out(ready.command, stdout=output, stderr=output)
    (report,) = [json.loads(path.read_bytes()) for path in ready.probes.iterdir()]
    return instrumented_metrics([report])


@needs_counter
@pytest.mark.parametrize("workload", [THREAD, CHILD, DAEMON])
def test_calls_of_what_ran_before_the_probe_are_counted(workload: str, tmp_path: Path) -> None:
    counted = seen(tmp_path, workload, tracepoint=COUNTER.tracepoint)
    assert CALLS <= counted["system_calls"] < CALLS + 500


def test_calls_that_the_kernel_does_not_count_are_absent(tmp_path: Path) -> None:
    assert seen(tmp_path, THREAD, tracepoint=2**31) == {}
