"""What processes have loaded, beside what they say of themselves."""

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from tests.running import line_of, python
from tests.waiting import until
from waitbench.system import loaded

IMPORTS = """
import sys, time
sys.path.insert(0, sys.argv[1])
import tool
held = [open(name) for name in sys.argv[3:]]
print("up", flush=True)
time.sleep(600)
"""


def package(folder: Path) -> Path:
    (folder / "tool").mkdir(parents=True)
    (folder / "tool" / "__init__.py").write_text("def work(): pass\n")
    return folder


def test_a_module_is_found_where_it_was_imported_from_and_nowhere_else(tmp_path: Path) -> None:
    used, unused = package(tmp_path / "used"), package(tmp_path / "unused")
    names = ["other.py", "tool/__init__.py"]
    for _ in range(2):  # compiled by the first one
        with python(IMPORTS, used) as process:
            line_of(process)
            paths = loaded.modules([process.pid], names)
            process.kill()
        assert paths == {f"{used}/tool/__init__.py"}
    assert (unused / "tool").exists()
    assert loaded.modules([process.pid], names) == set(), "it is gone"


def test_files_are_what_runs_is_read_or_named_but_no_data(tmp_path: Path) -> None:
    run, begun_s = tmp_path / "run", time.time() + 1
    for name in ("run/own", "named", "read", "changed"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.utime(tmp_path / "changed", (begun_s, begun_s))
    (run / "link").symlink_to(tmp_path / "read")
    names = [tmp_path / "named", *(tmp_path / name for name in ("run/own", "run/link", "changed"))]
    package(tmp_path / "used")
    with python(IMPORTS, tmp_path / "used", *names) as process:
        line_of(process)
        paths = loaded.files([process.pid], run, begun_s)
        process.kill()
    assert {str(tmp_path / "read"), str(tmp_path / "named")} <= paths
    assert str(Path(sys.executable).resolve()) in paths
    assert not {str(tmp_path / name) for name in ("run/own", "run/link", "changed")} & paths
    assert all(Path(path).is_absolute() for path in paths)


def is_real(exe: Path) -> bool:
    return exe.readlink().name == "real"


def test_two_programs_of_one_wrapper_are_two(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "worker").write_text('#!/bin/sh\nexec "${0%/*}/real" 600\n')
        (folder / "worker").chmod(0o755)
        shutil.copy(shutil.which("sleep") or "", folder / "real")
        with subprocess.Popen([folder / "worker"]) as process:
            try:
                exe = Path(f"/proc/{process.pid}/exe")
                until(partial(is_real, exe))
                paths = loaded.files([process.pid], tmp_path / "run", time.time() + 1)
            finally:
                process.kill()
        assert [path for path in paths if path.startswith(str(tmp_path))] == [str(folder / "real")]
