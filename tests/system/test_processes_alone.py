"""Code that may do anything: what leaves its group is found, its output has an end."""

import textwrap
from pathlib import Path

import pytest

from tests.system.adopting import adopting
from waitbench.system.processes import MOST_OUTPUT, Finished

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


def confined(program: str, tmp_path: Path) -> Finished:
    """Runs a Python program alone, in a process of its own that adopts orphans; how it ended."""
    runner = f"""
        with open("out", "wb") as out, open("err", "wb") as err:
            print(repr(processes.run_alone(
                [sys.executable, "-c", {textwrap.dedent(program)!r}], stdout=out, stderr=err,
                time_limit_s=60, env=dict(os.environ), cwd=Path("."), on_start=lambda _: None,
            )))
    """
    return eval(adopting(runner, tmp_path), {"Finished": Finished})  # type: ignore[no-any-return]


@pytest.mark.parametrize(("then", "left"), [("time.sleep(600)", 1), ("os._exit(0)", 0)])
def test_what_leaves_its_session_is_found_and_ended(then: str, left: int, tmp_path: Path) -> None:
    found = confined(STRAY.format(then=then), tmp_path)
    assert (found.returncode, found.leftovers) == (0, left)


def test_what_a_stray_has_started_is_not_left_to_the_next_run(tmp_path: Path) -> None:
    more = "[os.fork() or time.sleep(600) for _ in range(300)]; time.sleep(600)"
    found = confined(STRAY.format(then=more), tmp_path)
    assert found.returncode == 0
    assert 1 <= found.leftovers <= 301


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
    assert (tmp_path / "out").read_text() == "said\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_without_an_end_is_cut_off_and_its_program_killed(
    stream: str, tmp_path: Path
) -> None:
    found = confined(
        f"import sys\nwhile True:\n    sys.{stream}.write('x' * 65536 + '\\n')", tmp_path
    )
    assert found.wrote_too_much
    assert not found.timed_out
    assert (
        tmp_path / {"stdout": "out", "stderr": "err"}[stream]
    ).stat().st_size <= MOST_OUTPUT + 2**17
