"""Programs that are started end, one way or the other."""

import sys
from pathlib import Path

from waitbench.system import processes


def start(code: str, **options: float) -> processes.Finished:
    limit = options.get("time_limit_s", 60)
    return processes.run([sys.executable, "-c", code], stdout=-3, stderr=-3, time_limit_s=limit)


def test_an_exit_code_is_passed_on() -> None:
    assert start("raise SystemExit(7)") == processes.Finished(7, 0)


def test_a_program_past_its_time_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    write = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')"
    code = f"import os, time; os.fork(); {write}; time.sleep(600)"
    finished = start(code, time_limit_s=2)
    assert finished.timed_out
    assert finished.leftovers == 2
    assert not any(
        Path(f"/proc/{pid}/cmdline").exists() and is_running(int(pid))
        for pid in pids.read_text().split()
    )


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_program_is_asked_for_what_it_says() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    done = processes.ask([sys.executable, "-c", code], time_limit_s=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    slow = processes.ask([sys.executable, "-c", "import time; time.sleep(60)"], time_limit_s=0.5)
    assert slow.returncode is None


def test_the_end_of_a_huge_log_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(10**9)  # a hole: nothing is on the disk
        file.seek(0, 2)
        file.write(b"\n" + b"x" * 5000 + b"\nlast\xff\n")
    one, last = processes.tail(log, 2).splitlines()
    assert (len(one), last) == (1000, "last\ufffd")
    assert processes.tail(tmp_path / "none") == ""
