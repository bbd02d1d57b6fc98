"""The benchmark of asv: tracks the CPU of the worker that a commit describes, by psutil."""

import json
import sys
import time
from pathlib import Path

import psutil

SETTLE_S = 1.0


def track_idle() -> float:
    """CPU seconds of the worker, and of the children that it waited for, in the window."""
    worker = json.loads((Path(sys.prefix) / "worker.json").read_text())
    process = psutil.Popen(worker["command"], cwd=worker["folder"], stdout=-3)
    time.sleep(SETTLE_S)
    before = sum(process.cpu_times()[:4])
    time.sleep(worker["window_s"])
    used = sum(process.cpu_times()[:4]) - before
    process.terminate()
    process.wait()
    return float(used)


setattr(track_idle, "unit", "s")  # noqa: B010 -- mypy allows no other way
