"""Who wakes up in a program that runs already."""

import os
import subprocess
import sys

import pytest

from waitbench.analysis.why import lines
from waitbench.execution import why

NEEDLE = """
import threading, time
def needle():
    while True: time.sleep(0.01)
threading.Thread(target=needle).start()
print("ready", flush=True)
"""


@pytest.mark.integration
def test_who_wakes_up_is_seen_and_nobody_hears_of_it() -> None:
    with subprocess.Popen([sys.executable, "-c", NEEDLE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            found = why.look(lambda: [process.pid], 1.0)
            # A shell that has started it would take it for suspended.
            heard = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
            assert os.waitid(os.P_PID, process.pid, heard) is None
            assert process.poll() is None
        finally:
            process.kill()
    assert found.remarks == ()
    assert lines([found])[0].frames[0].name == "needle"
