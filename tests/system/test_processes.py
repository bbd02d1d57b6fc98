"""Programs that are started end, one way or the other."""

import sys
from pathlib import Path

import pytest

from waitbench.model.errors import HarnessError
from waitbench.system import processes
from waitbench.system.processes import run_logged

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
