"""Code that may do anything: what leaves its group is found, and what is another's is let be."""

import sys
import textwrap
from pathlib import Path

import pytest

from tests.running import run
from waitbench.system.paths import PACKAGE
from waitbench.system.processes import Finished

STRAY = """
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
            open("burnt", "w").close()
            {then}
        os._exit(0)
    os.wait()
    while not os.path.exists("burnt"):
        time.sleep(0.01)
"""


BEGIN = """
import os, sys, threading
from pathlib import Path
from waitbench.system import proc, processes
proc.adopt_orphans()
def carry_out(program):
    name = threading.current_thread().name
    with open(name + ".out", "wb") as out, open(name + ".err", "wb") as err:
        return processes.run_alone(
            [sys.executable, "-c", program], stdout=out, stderr=err, time_limit_s=60,
            env=dict(os.environ), cwd=Path("."), on_start=lambda _: None,
        )
"""
END = """
assert proc.descendants(os.getpid()) == [processes.REAPER.pid]
"""


def adopting(program: str, folder: Path) -> list[Finished]:
    """What is found in a process of its own, which adopts orphans; it leaves but the reaper."""
    printing = f"{BEGIN}found = []\n{program}\nprint(found)\n{END}"
    env = {"PYTHONPATH": str(PACKAGE.parent)}
    done = run(sys.executable, "-c", printing, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout, {"Finished": Finished})  # type: ignore[no-any-return]


def confined(program: str, folder: Path) -> Finished:
    """How a Python program ended that runs alone."""
    (finished,) = adopting(f"found.append(carry_out({textwrap.dedent(program)!r}))", folder)
    return finished


FORKS = "[os.fork() or time.sleep(600) for _ in range(300)]; time.sleep(600)"


@pytest.mark.parametrize(
    ("then", "most"), [("os._exit(0)", 0), ("time.sleep(600)", 1), (FORKS, 301)]
)
def test_what_leaves_its_session_is_found_and_ended_with_all_that_it_started(
    then: str, most: int, tmp_path: Path
) -> None:
    finished = confined(STRAY.format(then=then), tmp_path)
    assert finished.returncode == 0
    assert min(most, 1) <= finished.leftovers <= most


@pytest.mark.parametrize("own_group", ["", "os.setpgid(0, 0)"])
def test_who_forks_and_goes_at_once_is_caught(own_group: str, tmp_path: Path) -> None:
    flees = f"""
        import os
        if os.fork() == 0:
            {own_group or "pass"}
            while True:
                if os.fork():
                    os._exit(0)
        """
    assert confined(flees, tmp_path).returncode == 0


def test_a_program_that_stays_leaves_nothing_and_may_close_its_output(tmp_path: Path) -> None:
    program = "import os\nprint('said', flush=True)\nos.close(1)\nos.close(2)"
    finished = confined(program, tmp_path)
    assert (finished.returncode, finished.leftovers, finished.wrote_too_much) == (0, 0, False)
    assert (tmp_path / "MainThread.out").read_text() == "said\n"


OUTLASTS = """
    import os, subprocess, time
    child = subprocess.Popen(["sleep", "600"])
    open("other", "w").close()
    while not os.path.exists("over"):
        time.sleep(0.01)
    child.kill()
    os._exit(3 if child.wait() == -9 else 4)
"""
"""Ends when the other is over, with exit code 3 if neither it nor its child was touched."""


def test_of_two_at_once_each_is_ended_with_its_own_only(tmp_path: Path) -> None:
    strays = STRAY.format(then="time.sleep(600)").replace('("burnt"):', '("other"):')
    first, second = map(textwrap.dedent, (strays, OUTLASTS))
    program = f"""
thread = threading.Thread(target=lambda: found.append(carry_out({second!r})))
thread.start()
one = carry_out({first!r})
open("over", "w").close()
thread.join()
found.append(one)
"""
    ends = [(end.returncode, end.leftovers) for end in adopting(program, tmp_path)]
    assert ends == [(3, 0), (0, 1)]
