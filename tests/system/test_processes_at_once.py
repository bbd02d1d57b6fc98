"""Two programs that may do anything, run at the same time: each is ended with its own only."""

import textwrap
from pathlib import Path

from tests.system.adopting import adopting

STRAYS = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open("stray", "w").close()
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not (os.path.exists("stray") and os.path.exists("other")):
        time.sleep(0.01)
"""
"""Leaves a process behind, and ends while the other runs."""
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


def at_once(first: str, tmp_path: Path, time_limit_s: float = 60) -> tuple[object, object]:
    """How ``first`` ended, and then the one that outlasts it: exit codes and leftovers."""
    runner = f"""
        found = {{}}

        def carry_out(name, program, time_limit_s):
            with open(name + ".out", "wb") as out, open(name + ".err", "wb") as err:
                ended = processes.run_alone(
                    [sys.executable, "-c", program], stdout=out, stderr=err,
                    time_limit_s=time_limit_s, env=dict(os.environ), cwd=Path("."),
                    on_start=lambda _: None,
                )
            found[name] = ended.returncode, ended.leftovers

        other = ("other", {textwrap.dedent(OUTLASTS)!r}, 60)
        thread = threading.Thread(target=carry_out, args=other)
        thread.start()
        carry_out("first", {textwrap.dedent(first)!r}, {time_limit_s})
        open("over", "w").close()
        thread.join()
        print(repr((found["first"], found["other"])))
    """
    return eval(adopting(runner, tmp_path))  # type: ignore[no-any-return]


def test_what_one_leaves_behind_is_ended_and_the_other_is_not_touched(tmp_path: Path) -> None:
    assert at_once(STRAYS, tmp_path) == ((0, 1), (3, 0))


def test_one_that_hangs_is_killed_and_the_other_is_not_touched(tmp_path: Path) -> None:
    assert at_once(HANGS, tmp_path, time_limit_s=1) == ((None, 1), (3, 0))
