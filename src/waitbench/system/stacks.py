"""The stacks of a process: functions of Python and compiled ones, put together by pystack."""

import logging
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.model.why import PYTHON, Frame
from waitbench.system import native_stacks

if TYPE_CHECKING:
    from pystack.types import NativeFrame, PyFrame, PyThread


_NO_PYTHON = "Could not determine python version"


class NotSeen(Exception):
    """Why stacks could not be read, to end a sentence."""


def read(pid: int) -> dict[int, tuple[Frame, ...]]:
    """The functions of each thread that tell where it is, the outermost first.

    The process may be stopped already, and stays so. Raises ``NotSeen``.
    """
    # Here, not above: it is used when all is measured.
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
    """The same of a program without Python."""
    try:
        threads = native_stacks.read(pid)
    except (OSError, AttributeError) as error:  # pystack may be linked in another way
        raise NotSeen(f"its functions cannot be read ({error})") from error
    return {
        tid: _telling(frame for call in calls[::-1] for frame in _of_compiled(call))
        for tid, calls in threads.items()
    }


def _merged(thread: "PyThread") -> Iterator[Frame]:
    """Compiled functions, and those of Python where the interpreter runs them.

    Those of Python alone where the interpreter's own cannot be told.
    """
    from pystack.types import NativeFrame, frame_type

    groups: list[list[Frame]] = []
    for function in thread.frames:
        # The interpreter is called anew for it.
        if function.is_entry or not groups:
            groups.append([])
        groups[-1].append(_of_python(function))
    kinds = [frame_type(one, thread.python_version) for one in thread.native_frames]
    if kinds.count(NativeFrame.FrameType.EVAL) < len(groups):
        yield from (frame for group in groups for frame in group)
        return
    for kind, native in zip(kinds, thread.native_frames, strict=True):
        if kind == NativeFrame.FrameType.EVAL:
            # Of a function that only begins there is none yet.
            yield from groups.pop(0) if groups else ()
        elif kind == NativeFrame.FrameType.OTHER:
            yield from _of_compiled(native)


def _of_python(frame: "PyFrame") -> Frame:
    code = frame.code
    return Frame(code.scope, PYTHON, _short(code.filename), max(code.location.lineno, 0))


_RUNTIME = re.compile(
    r"(^|/)(python[\d.]*|libpython[^/]*|libc[.-][^/]*|libpthread[^/]*|libm[.-][^/]*|ld-[^/]*"
    r"|libgcc_s[^/]*|libstdc\+\+[^/]*|linux-vdso[^/]*)$|^\[vdso|/lib-dynload/"
)
"""Libraries whose functions say nothing that the system call and Python's own do not."""


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
"""Files of Python whose functions only begin others; ``None`` for all of them."""
_RUST = re.compile(
    r"^(std|core|alloc|pyo3|tokio::runtime::(context|scheduler|coop|task)|parking_lot(_core)?"
    r"|crossbeam\w*|futures_(util|core)|backtrace|hashbrown|tracing(_core)?)::|^(__)?rust_|^_?Py[A-Z_]|FnOnce|^_start$"
)


def _telling(frames: Iterator[Frame]) -> tuple[Frame, ...]:
    """Those that tell one place from another; what repeats itself only once."""
    found = [frame for frame, _ in groupby(frames)]
    return tuple(frame for frame in found if not _is_plumbing(frame)) or tuple(found)


def _is_plumbing(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        names = _BEGINS.get(frame.file.rpartition("/")[2], ())
        return names is None or frame.name in names
    return bool(_RUST.match(frame.name))


_MANGLED = re.compile(r"_(ZN|R)(?=.*\d)(.*?)(?:\.llvm\.\d+)?")
_TOKEN = re.compile(r"(C)?[sB][0-9A-Za-z]*?_|(\d+)")
"""A reference of Rust's mangling, to a crate where it begins with ``C``; or a name's length."""
_ESCAPED = re.compile(r"\$(?:u([0-9a-f]{2})|([A-Z]{1,2}))\$")
_ESCAPES = {"LT": "<", "GT": ">", "RF": "&", "BP": "*", "C": ",", "LP": "(", "RP": ")"}
_ADDED = re.compile(
    r"::h[0-9a-f]{16}|\[[0-9a-f]{8,}\]|\.(llvm|isra|part|constprop|lto_priv)\.\d+|\.cold(\.\d+)?$"
    r"|::\{\{closure\}\}|::\{closure#\d+\}|(?<=\{impl)#\d+| \(inlined\)$|@.*$|\.abi0$"
    r"|(?<=[\w}>])\([^{}]*\)( const)?( \[clone .*\])?$"
)
_ARGUMENTS_OF_TYPES = re.compile(r"(?<!operator)<(?:[-=]>|[^<>])*>")
_TRAIT = re.compile(r"^<(?:dyn |&|mut )*(.+?) as .+?>(?=::[^<>]*$)")


def _readable(name: str) -> str:
    """A function's name without what a compiler adds to it."""
    if mangled := _MANGLED.fullmatch(name):  # by Rust, which pystack does not know
        name = "::".join(_names(*mangled.groups()))
    if "$" in name:
        name = _ESCAPED.sub(lambda one: _ESCAPES.get(one[2]) or chr(int(one[1] or "20", 16)), name)
        name = re.sub(r"(^|::)_(?=[<{])", r"\1", name.replace("..", "::"))
    name = _ADDED.sub("", name)
    plain, longer = _TRAIT.sub(r"\1", name), ""
    while plain != longer:
        plain, longer = _ARGUMENTS_OF_TYPES.sub("", plain), plain
    return plain.replace("::::", "::").strip(": ") or name


def _names(form: str, mangled: str) -> Iterator[str]:
    """The names in a mangled one, in order; not that of the crate that uses it, at the end.

    Of types that a function is made for, there are the names too.
    """
    at, of_crate = 0, False
    while token := _TOKEN.search(mangled, at):
        at = token.end()
        if token[2]:
            # Of the newer form, what begins with a digit or a _ has one more before it.
            begin = at + (form == "R" and mangled.startswith("_", at))
            at = begin + int(token[2])
            if not of_crate or at < len(mangled):
                yield mangled[begin:at]
        of_crate = bool(token[1])


def _short(path: str) -> str:
    """The last two parts of a path."""
    return "/".join(Path(path).parts[-2:]) if not path.startswith("<") else path
