"""What a process speaks for that has started others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from waitbench.system.places import DATAFLOWS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what others use is in /proc")

BURN_S = 0.2
BURNS = f"import time\nwhile time.process_time() < {BURN_S}: pass\n"
LEAVES = f"""\
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    {BURNS.replace(chr(10), chr(10) + "    ")}
    os.write(1, b"done")
    os.close(1)
    os.read(0, 1)
"""
ROOT = f"""\
import subprocess, sys
from support import probe, tree

probe.speak_for_all()
lives = subprocess.Popen(
    [sys.executable, "-c", {BURNS!r} + "import sys; print('done', flush=True); sys.stdin.read()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
)
left = subprocess.Popen(
    [sys.executable, "-c", {LEAVES!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
lives.stdout.readline(), left.stdout.read(), left.wait()
probe.first_poll()
for one in (lives, left):
    one.stdin.close()
tree.wait_for_all(30)
probe.end_of_input()
assert not tree.descendants()
"""


def test_readings_are_of_all_that_run_that_have_ended_and_that_were_left_behind(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "BENCH_PROBE_DIR": str(tmp_path), "PYTHONPATH": str(DATAFLOWS)}
    subprocess.run([sys.executable, "-c", ROOT], env=environment, check=True, timeout=60)
    (path,) = tmp_path.glob("process-*.json")
    told = json.loads(path.read_text())
    assert told["speaks_for_all"]
    assert told["helpers"] == {"user_s": 0, "system_s": 0}, "they are its own"
    used = [
        told[when]["user_s"] + told[when]["system_s"]
        for when in ("first_poll", "end_of_input", "exit")
    ]
    assert used[0] >= 2 * BURN_S
    assert used == sorted(used), "what ends is not lost, nor is it counted twice"
    assert used[2] - told["loaded"]["user_s"] < used[0] + 1
    assert told["first_poll"]["switches_voluntary"] is None


def test_what_does_not_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"""\
import subprocess, sys
sys.path.insert(0, {str(DATAFLOWS)!r})
from support import tree
one = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
try:
    tree.wait_for_all(0)
except TimeoutError as error:
    print(str(one.pid) in str(error))
one.stdin.close()
tree.wait_for_all(30)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True\n"
