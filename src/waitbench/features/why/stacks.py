"""Stacks of a process, of Python and compiled functions, merged by pystack."""

import logging
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.features.why import native_stacks
from waitbench.features.why.samples import PYTHON, Frame

if TYPE_CHECKING:
    from pystack.types import NativeFrame, PyThread

_NO_PYTHON = "Could not determine python version"


class NotSeen(Exception):
    """Stacks could not be read; the message completes a sentence."""


def read(pid: int) -> dict[int, tuple[Frame, ...]]:
    """The informative frames of each thread, the outermost first. Raises ``NotSeen``."""
    # Not imported during measurements.
    from pystack.engine import NativeReportingMode, get_process_threads
    from pystack.errors import PystackError

    logging.getLogger("pystack").addHandler(logging.NullHandler())
    try:
        threads = get_process_threads(pid, native_mode=NativeReportingMode.ALL)
    except (PystackError, OSError, RuntimeError) as error:
        reason = str(error).removeprefix("Engine error: ").rstrip(".")
        if not reason.startswith(_NO_PYTHON):
            raise NotSeen(f"its functions cannot be read ({reason})") from error
        return _of_program(pid)
    return {thread.tid: _telling(_merged(thread)) for thread in threads}


def _of_program(pid: int) -> dict[int, tuple[Frame, ...]]:
    try:
        threads = native_stacks.read(pid)
    except (OSError, AttributeError) as error:  # pystack may be linked differently
        raise NotSeen(f"its functions cannot be read ({error})") from error
    return {
        tid: _telling(frame for call in calls[::-1] for frame in _of_compiled(call))
        for tid, calls in threads.items()
    }


def _merged(thread: "PyThread") -> Iterator[Frame]:
    """Compiled frames, with Python's in place of the evaluation loop if that is recognised."""
    from pystack.types import NativeFrame, frame_type

    groups: list[list[Frame]] = []
    for function in thread.frames:
        # Each entry frame has an evaluation loop of its own.
        if function.is_entry or not groups:
            groups.append([])
        code = function.code
        file, line = _short(code.filename), max(code.location.lineno, 0)
        groups[-1].append(Frame(code.scope, PYTHON, file, line))
    kinds = [frame_type(frame, thread.python_version) for frame in thread.native_frames]
    if kinds.count(NativeFrame.FrameType.EVAL) < len(groups):
        yield from (frame for group in groups for frame in group)
        return
    for kind, native in zip(kinds, thread.native_frames, strict=True):
        if kind == NativeFrame.FrameType.EVAL:
            # A function that is just being called has no Python frame yet.
            yield from groups.pop(0) if groups else ()
        elif kind == NativeFrame.FrameType.OTHER:
            yield from _of_compiled(native)


_RUNTIME = re.compile(
    r"(^|/)(python[\d.]*|libpython[^/]*|libc[.-][^/]*|libpthread[^/]*|libm[.-][^/]*|ld-[^/]*"
    r"|libgcc_s[^/]*|libstdc\+\+[^/]*|linux-vdso[^/]*)$|^\[vdso|/lib-dynload/"
)
"""Libraries whose functions add nothing to the system call and the Python frames."""


def _of_compiled(frame: "NativeFrame | native_stacks.Call") -> Iterator[Frame]:
    if _RUNTIME.search(frame.library):
        return
    if frame.symbol.startswith("?"):  # the library has no symbols
        yield Frame(f"[{Path(frame.library).name}]")
    else:
        file = "" if frame.path.startswith("?") else _short(frame.path)
        yield Frame(_readable(frame.symbol), file=file, line=max(frame.linenumber, 0))


_BEGINS = {
    "runpy.py": None, "<frozen runpy>": None,
    "threading.py": ("_bootstrap", "_bootstrap_inner", "run"),
}  # fmt: skip
"""Start-up functions by file of the standard library; ``None`` for all of a file."""
_RUST = re.compile(
    r"^(std|core|alloc|pyo3|tokio::runtime::(context|scheduler|coop|task)|parking_lot(_core)?"
    r"|crossbeam\w*|futures_(util|core)|backtrace|hashbrown|tracing(_core)?)::|^(__)?rust_|^_?Py[A-Z_]|FnOnce|^_start$"
)


def _telling(frames: Iterator[Frame]) -> tuple[Frame, ...]:
    """Drops repetitions and, if anything is left then, plumbing."""
    distinct = [frame for frame, _ in groupby(frames)]
    return tuple(frame for frame in distinct if not _is_plumbing(frame)) or tuple(distinct)


def _is_plumbing(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        names = _BEGINS.get(frame.file.rpartition("/")[2], ())
        return names is None or frame.name in names
    return bool(_RUST.match(frame.name))


_MANGLED = re.compile(r"_(ZN|R)(?=.*\d)(.*?)(?:\.llvm\.\d+)?")
_TOKEN = re.compile(r"(C)?[sB][0-9A-Za-z]*?_|(\d+)")
"""In a mangled name: a back reference, to a crate if it begins with ``C``, or a length."""
_ESCAPED = re.compile(r"\$(?:u([0-9a-f]{2})|([A-Z]{1,2}))\$")
_ESCAPES = {"LT": "<", "GT": ">", "RF": "&", "BP": "*", "C": ",", "LP": "(", "RP": ")"}
_ADDED = re.compile(
    r"::h[0-9a-f]{16}|\[[0-9a-f]{8,}\]|\.(llvm|isra|part|constprop|lto_priv)\.\d+|\.cold(\.\d+)?$"
    r"|::\{\{closure\}\}|::\{closure#\d+\}|(?<=\{impl)#\d+| \(inlined\)$|@.*$|\.abi0$"
    r"|(?<=[\w}>])\([^{}]*\)( const)?( \[clone .*\])?$"
)
_TYPE_ARGUMENTS = re.compile(r"(?<!operator)<(?:[-=]>|[^<>])*>")
_TRAIT = re.compile(r"^<(?:dyn |&|mut )*(.+?) as .+?>(?=::[^<>]*$)")


def _readable(name: str) -> str:
    """Demangles a function's name and removes compiler suffixes and type arguments."""
    if mangled := _MANGLED.fullmatch(name):  # by Rust; pystack demangles only C++
        name = "::".join(_names(*mangled.groups()))
    if "$" in name:
        name = _ESCAPED.sub(lambda hit: _ESCAPES.get(hit[2]) or chr(int(hit[1] or "20", 16)), name)
        name = re.sub(r"(^|::)_(?=[<{])", r"\1", name.replace("..", "::"))
    name = _ADDED.sub("", name)
    short, longer = _TRAIT.sub(r"\1", name), ""
    while short != longer:
        short, longer = _TYPE_ARGUMENTS.sub("", short), short
    return short.replace("::::", "::").strip(": ") or name


def _names(form: str, mangled: str) -> Iterator[str]:
    """Yields the identifiers of a mangled name, except the instantiating crate at its end."""
    end, is_crate = 0, False
    while token := _TOKEN.search(mangled, end):
        end = token.end()
        if token[2]:
            # In the v0 form, a _ separates the length from a leading digit or _.
            begin = end + (form == "R" and mangled.startswith("_", end))
            end = begin + int(token[2])
            if not is_crate or end < len(mangled):
                yield mangled[begin:end]
        is_crate = bool(token[1])


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:]) if not path.startswith("<") else path
