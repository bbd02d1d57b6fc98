"""What processes have loaded: which files, and from where modules of Python (Linux)."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_MOST_BYTES = 2**29
"""Of memory that is searched."""
_LONGEST = 4096
"""Bytes of a path."""
_ASCII_PATH = re.compile(rb"/[ -~]*\Z")
_WRITES = 0o200
"""Of the mode of a link in ``/proc/<pid>/fd``: its file is open for writing."""
_NO_PROGRAMS = frozenset(map(Path, ("/proc", "/sys", "/dev")))


def files(processes: Iterable[int], run: Path, begun_s: float) -> set[str]:
    """The files that processes run, have mapped, read, or are named by an argument of theirs.

    Not those in the folder of the run, and none that has changed since that began: such are data. A
    process of a container has other files under the same names, and is left out.
    """
    named = set[Path]()
    for process in processes:
        folder = Path(f"/proc/{process}")
        with suppress(OSError):  # it has ended, or is another user's
            if (folder / "ns/mnt").samefile("/proc/self/ns/mnt"):
                named.update(_named(folder))
    return {str(path) for path in named if _is_program(path, run, begun_s)}


def _named(process: Path) -> Iterator[Path]:
    yield (process / "exe").readlink()
    for *_, name in _mappings(process):
        yield Path(name)
    for link in (process / "fd").iterdir():
        with suppress(OSError):
            if not link.lstat().st_mode & _WRITES:
                yield link.readlink()
    working_folder = (process / "cwd").readlink()
    for word in (process / "cmdline").read_bytes().split(b"\0"):
        yield working_folder / os.fsdecode(word)


def _is_program(path: Path, run: Path, begun_s: float) -> bool:
    try:
        is_old = path.is_file() and path.stat().st_mtime < begun_s
    except (OSError, ValueError):
        return False
    return is_old and path.is_absolute() and _NO_PROGRAMS.union({run}).isdisjoint(path.parents)


def modules(processes: Iterable[int], names: Sequence[str]) -> set[str]:
    """The paths of modules of Python that processes have loaded, of files that are called so.

    They are in the memory of a process and nowhere else: files of modules are closed. To read it
    disturbs nobody.
    """
    found, left = set[str](), _MOST_BYTES
    for process in processes:
        folder = Path(f"/proc/{process}")
        with suppress(OSError), (folder / "mem").open("rb", 0) as memory:
            for begin, end, access, name in _mappings(folder):
                is_heap = access.startswith("rw") and not name.startswith("/")
                if is_heap and end - begin <= left:
                    with suppress(OSError, OverflowError):  # such as what a device has mapped
                        memory.seek(begin)
                        content = memory.read(end - begin)
                        left -= len(content)
                        found.update(_paths_in(content, names))
    return {path for path in found if Path(path).is_file()}


def _paths_in(content: bytes, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ending = f"/{name}\0".encode()
        place = content.find(ending)
        while place >= 0:
            if folder := _ASCII_PATH.search(content[max(0, place - _LONGEST) : place]):
                yield f"{folder[0].decode()}/{name}"
            place = content.find(ending, place + 1)


def _mappings(process: Path) -> Iterator[tuple[int, int, str, str]]:
    """Begin, end, access and name of each."""
    for line in (process / "maps").read_text("utf-8", "surrogateescape").splitlines():
        place, access, _, _, _, *name = line.split(maxsplit=5)
        begin, end = (int(address, 16) for address in place.split("-"))
        yield begin, end, access, "".join(name)
