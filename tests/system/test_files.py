"""Files that are written whole or not at all, whatever somebody else has put in their place."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.running import run
from waitbench.model.errors import HarnessError
from waitbench.system import files
from waitbench.system.paths import ROOT

TRAPS = ("link", "dangling link", "pipe", "device", "folder")


def set_trap(path: Path, trap: str) -> Path:
    """Puts something else in the place of a file. Returns what must not change."""
    precious = path.with_name("precious")
    precious.write_text("precious")
    targets = {
        "link": precious, "dangling link": path.with_name("new"), "device": Path("/dev/zero"),
    }  # fmt: skip
    if trap in targets:
        path.symlink_to(targets[trap])
    elif trap == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    return precious


def test_threads_may_replace_the_same_file_at_once(tmp_path: Path) -> None:
    path, both = tmp_path / "file", threading.Barrier(2)
    files.write_text(path, "two – and more")
    assert path.read_text("utf-8") == "two – and more"

    def write(partial: Path) -> None:
        both.wait(10)
        partial.write_text("whole")
        both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for writing in [pool.submit(files.write_with, path, write) for _ in range(2)]:
            writing.result()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_text("before")
    monkeypatch.setattr("waitbench.system.files.os.fsync", full)
    for write in (files.write_text, files.append_line):
        with pytest.raises(HarnessError, match="No space left on device"):
            write(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_is_read_through_a_trap_and_nothing_written_but_in_its_place(
    trap: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    precious = set_trap(path, trap)
    with pytest.raises(OSError, match=r"it is a link|it is not a file|Is a directory"):
        files.read(path)
    with pytest.raises(HarnessError, match="cannot be added to"):
        files.append_line(path, "line")
    if trap == "folder":
        with pytest.raises(HarnessError, match="Is a directory"):
            files.write_text(path, "text")
    else:
        files.write_text(path, "text")
        assert files.read(path) == b"text"
    assert (precious.read_text(), files.is_there(tmp_path / "new")) == ("precious", False)


def test_what_the_user_names_may_be_a_link_or_a_device(tmp_path: Path) -> None:
    path = tmp_path / "file"
    target = set_trap(path, "link")
    files.write_text(path, "text", named=True)
    assert (path.is_symlink(), target.read_text(), files.read(path, named=True)) == (
        True, "text", b"text",
    )  # fmt: skip
    files.write_text(Path(os.devnull), "text", named=True)
    with pytest.raises(OSError, match="more than 1 MiB"):
        files.read(Path("/dev/zero"), named=True, most=2**20)


def test_a_folder_is_removed_however_deep_it_is_and_whatever_its_modes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    outside = set_trap(folder / "link", "folder").rename(tmp_path / "outside")
    (folder / "link" / "up").symlink_to(tmp_path)
    place = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("x" * 20, 0o500, dir_fd=place)
        os.chmod("x" * 20, 0o700, dir_fd=place)
        below = os.open("x" * 20, os.O_RDONLY, dir_fd=place)
        os.fchmod(place, 0o500)
        os.close(place)
        place = below
    os.close(place)
    # Root may write everywhere, but without this.
    ordinary = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    code = "import sys; from waitbench.system.files import *; remove(Path(sys.argv[1]))"
    done = run(*ordinary, sys.executable, "-c", code, folder, cwd=ROOT / "src")
    left = files.is_there(folder)
    subprocess.run(["rm", "-rf", folder], check=False)  # pytest cannot
    assert (left, done.stderr) == (False, "")
    assert sorted(tmp_path.iterdir()) == [outside]
    folder.symlink_to(outside.parent)
    files.remove(folder)
    assert outside.read_text() == "precious"
