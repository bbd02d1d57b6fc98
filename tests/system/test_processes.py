"""Programs that are started end, one way or the other, with all that they have started."""

import sys
import textwrap
from pathlib import Path

import pytest

from tests.running import run
from waitbench.model.errors import HarnessError
from waitbench.system import processes
from waitbench.system.paths import PACKAGE
from waitbench.system.processes import Finished, run_logged

BUILD = """
import sys
print("   Compiling thiserror v1.0")
print("error: toolchain '1.86.0' is not installed")
for n in range(60):
    print("   note", n)
print("error: subprocess-exited-with-error")
print("ERROR: Failed building wheel for bytewax")
sys.exit(1)
"""


def test_the_end_of_a_huge_log_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(10**9)  # a hole: nothing is on the disk
        file.seek(0, 2)
        file.write(b"\n" + b"x" * 5000 + b"\nlast\xff\n")
    first, last = processes.tail(log, 2).splitlines()
    assert (len(first), last) == (1000, "last\ufffd")
    assert processes.tail(tmp_path / "none") == ""


def test_an_excerpt_has_the_first_lines_beside_the_last_and_none_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for count, expected in [
        (5, "0 1 2 3 4"),
        (6, "0 1 … 3 4 5"),
        (10**6, "0 1 … 999997 999998 999999"),
    ]:
        log.write_text("".join(f"{number}\n" for number in range(count)))
        assert processes.tail(log, 3, first=2).split() == expected.split()


def fail(program: str, log: Path, time_limit_s: float = 60) -> str:
    command = [sys.executable, "-c", program]
    with pytest.raises(HarnessError) as raised:
        run_logged(command, log, time_limit_s=time_limit_s)
    return str(raised.value)


UV = "error: Failed to copy\n  cause: while it wrote\n  cause: No space left\n\nhint: more\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (BUILD, "toolchain '1.86.0' is not installed"),
        (f"print({UV!r}); raise SystemExit(2)", "error: Failed to copy: No space left"),
        ("print('all is well'); raise SystemExit(4)", "failed (exit 4): all is well"),
    ],
)
def test_the_first_line_has_the_first_complaint_or_else_the_end_of_the_log(
    program: str, expected: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("error: of yesterday\n")
    message = fail(program, log)
    # An outcome keeps the first line only.
    first, *end, last = message.splitlines()
    assert expected in first
    assert last == f"The log is {log}."
    assert "yesterday" not in message
    assert len(end) <= 15


def test_a_step_that_does_not_end_is_killed_and_the_option_is_named(tmp_path: Path) -> None:
    message = fail("import time; time.sleep(600)", tmp_path / "log", time_limit_s=0.5)
    assert "still running after 0.5 s" in message


def test_a_step_that_prints_without_end_is_killed_and_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    message = fail("while True: print('x' * 1000)", log)
    assert message.startswith(f"{Path(sys.executable).name} wrote more than 16 MiB, and was killed")
    assert log.stat().st_size < 17 << 20


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
        return processes.run(
            [sys.executable, "-c", program], stdout=out, stderr=err, time_limit_s=60,
            find_left=processes.tree_and_orphans(), limits_output=True,
        )
"""
END = """
assert proc.descendants(os.getpid()) == []
"""


def adopting(program: str, folder: Path) -> list[Finished]:
    """What is found in a process of its own, which adopts orphans; it leaves none."""
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


def test_processes_of_others_are_read_before_a_run_and_not_as_it_ends(tmp_path: Path) -> None:
    program = """
read, stat = [], proc.stat
proc.stat = lambda task: read.append(task) or stat(task)
found.append(carry_out("pass"))
assert read.count(os.getppid()) == 1
"""
    assert adopting(program, tmp_path) == [Finished(0, leftovers=0)]


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
    assert confined(program, tmp_path) == Finished(0, leftovers=0)
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
