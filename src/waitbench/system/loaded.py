"""The files and Python modules that processes have loaded (Linux)."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_MAX_SEARCHED_BYTES = 2**29
_MAX_PATH_BYTES = 4096
_ASCII_PATH = re.compile(rb"/[ -~]*\Z")
_OPEN_FOR_WRITING = 0o200
_SPECIAL_FOLDERS = frozenset(map(Path, ("/proc", "/sys", "/dev")))


def files(processes: Iterable[int], run: Path, begun_s: float) -> set[str]:
    """The files that processes execute, have mapped or opened, or name in their arguments.

    Excludes data: files in the run's folder ``run``, and files modified after ``begun_s``.
    """
    paths = set[Path]()
    for process in processes:
        folder = Path(f"/proc/{process}")
        with suppress(OSError):  # the process has ended, or is another user's
            # In another container, the same paths may be other files.
            if (folder / "ns/mnt").samefile("/proc/self/ns/mnt"):
                paths.update(_paths_of(folder))
    return {str(path) for path in paths if _is_program(path, run, begun_s)}


def _paths_of(process: Path) -> Iterator[Path]:
    yield (process / "exe").readlink()
    for *_, name in _mappings(process):
        yield Path(name)
    for link in (process / "fd").iterdir():
        with suppress(OSError):
            if not link.lstat().st_mode & _OPEN_FOR_WRITING:
                yield link.readlink()
    working_folder = (process / "cwd").readlink()
    for word in (process / "cmdline").read_bytes().split(b"\0"):
        yield working_folder / os.fsdecode(word)


def _is_program(path: Path, run: Path, begun_s: float) -> bool:
    try:
        is_old = path.is_file() and path.stat().st_mtime < begun_s
    except (OSError, ValueError):
        return False
    return is_old and path.is_absolute() and _SPECIAL_FOLDERS.union({run}).isdisjoint(path.parents)


def modules(processes: Iterable[int], names: Sequence[str]) -> set[str]:
    """The paths of loaded Python modules that end with one of ``names``, searched in memory."""
    paths, left_bytes = set[str](), _MAX_SEARCHED_BYTES
    for process in processes:
        folder = Path(f"/proc/{process}")
        with suppress(OSError), (folder / "mem").open("rb", 0) as memory:
            for begin, end, access, name in _mappings(folder):
                is_heap = access.startswith("rw") and not name.startswith("/")
                if is_heap and end - begin <= left_bytes:
                    with suppress(OSError, OverflowError):  # unreadable, such as a device's
                        memory.seek(begin)
                        content = memory.read(end - begin)
                        left_bytes -= len(content)
                        paths.update(_paths_in(content, names))
    return {path for path in paths if Path(path).is_file()}


def _paths_in(content: bytes, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ending = f"/{name}\0".encode()
        position = content.find(ending)
        while position >= 0:
            before = content[max(0, position - _MAX_PATH_BYTES) : position]
            if folder := _ASCII_PATH.search(before):
                yield f"{folder[0].decode()}/{name}"
            position = content.find(ending, position + 1)


def _mappings(process: Path) -> Iterator[tuple[int, int, str, str]]:
    """Yields begin, end, access and name of each mapping."""
    for line in (process / "maps").read_text("utf-8", "surrogateescape").splitlines():
        addresses, access, _, _, _, *name = line.split(maxsplit=5)
        begin, end = (int(address, 16) for address in addresses.split("-"))
        yield begin, end, access, "".join(name)
