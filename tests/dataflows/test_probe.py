"""What a process of a workload leaves behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

from waitbench.system.places import DATAFLOWS

BURNS = "import sys, time; sys.stdin.read()\nwhile time.process_time() < 0.2: pass"
WORKER = f"""\
import atexit, subprocess, sys
from support import probe

helper = subprocess.Popen([sys.executable, "-c", {BURNS!r}], stdin=subprocess.PIPE)
atexit.register(helper.communicate)
"""


def test_what_helpers_used_that_end_with_the_process_is_told(tmp_path: Path) -> None:
    environment = {**os.environ, "BENCH_PROBE_DIR": str(tmp_path), "PYTHONPATH": str(DATAFLOWS)}
    subprocess.run([sys.executable, "-c", WORKER], env=environment, check=True, timeout=60)
    (path,) = tmp_path.glob("process-*.json")
    told = json.loads(path.read_text())
    helpers_s = told["helpers"]["user_s"] + told["helpers"]["system_s"]
    assert helpers_s >= 0.2
