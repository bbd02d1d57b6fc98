"""Code that may do anything: what leaves its group is found, and what is another's is let be."""

import textwrap
from pathlib import Path

import pytest

from tests.system.adopting import adopting
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


CARRY_OUT = """
def carry_out(program, time_limit_s=60):
    name = threading.current_thread().name
    with open(name + ".out", "wb") as out, open(name + ".err", "wb") as err:
        return processes.run_alone(
            [sys.executable, "-c", program], stdout=out, stderr=err, time_limit_s=time_limit_s,
            env=dict(os.environ), cwd=Path("."), on_start=lambda _: None,
        )
"""


def confined(program: str, tmp_path: Path) -> Finished:
    """Runs a Python program alone, in a process of its own that adopts orphans; how it ended."""
    runner = f"{CARRY_OUT}\nprint(repr(carry_out({textwrap.dedent(program)!r})))"
    return eval(adopting(runner, tmp_path), {"Finished": Finished})  # type: ignore[no-any-return]


FORKS = "[os.fork() or time.sleep(600) for _ in range(300)]; time.sleep(600)"


@pytest.mark.parametrize(
    ("then", "most"), [("os._exit(0)", 0), ("time.sleep(600)", 1), (FORKS, 301)]
)
def test_what_leaves_its_session_is_found_and_ended_with_all_that_it_started(
    then: str, most: int, tmp_path: Path
) -> None:
    found = confined(STRAY.format(then=then), tmp_path)
    assert found.returncode == 0
    assert min(most, 1) <= found.leftovers <= most


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
    found = confined(program, tmp_path)
    assert (found.returncode, found.leftovers, found.wrote_too_much) == (0, 0, False)
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
HANGS = """
    import time
    while True:
        time.sleep(600)
"""


def at_once(first: str, tmp_path: Path, time_limit_s: float = 60) -> list[tuple[int | None, int]]:
    """How ``first`` ended, and then the one that outlasts it: exit codes and leftovers."""
    runner = f"""
found = []
def outlast(): found.append(carry_out({textwrap.dedent(OUTLASTS)!r}))
thread = threading.Thread(target=outlast)
thread.start()
one = carry_out({textwrap.dedent(first)!r}, {time_limit_s})
open("over", "w").close()
thread.join()
print([one, *found])
"""
    ended = eval(adopting(CARRY_OUT + runner, tmp_path), {"Finished": Finished})
    return [(one.returncode, one.leftovers) for one in ended]


def test_of_two_at_once_each_is_ended_with_its_own_only(tmp_path: Path) -> None:
    strays = STRAY.format(then="time.sleep(600)").replace('("burnt"):', '("other"):')
    assert at_once(strays, tmp_path) == [(0, 1), (3, 0)]
    (tmp_path / "over").unlink()
    assert at_once(HANGS, tmp_path, time_limit_s=1) == [(None, 1), (3, 0)]
