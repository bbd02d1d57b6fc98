"""Reads the stacks of a process by pystack, with Python functions and compiled functions."""

import ctypes
import logging
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from waitbench.features.why.samples import PYTHON, Frame

if TYPE_CHECKING:
    from pystack.types import NativeFrame, PyThread

_NO_PYTHON = "Could not determine python version"
"""The beginning of pystack's message on a process that does not run Python."""


class UnreadableStacks(Exception):
    """Stacks could not be read. The message is the end of a sentence."""


def read(pid: int) -> dict[int, tuple[Frame, ...]]:
    """The informative frames of each thread, the outermost first. Raises ``UnreadableStacks``."""
    # Imported late, so that pystack is not loaded while runs are measured.
    from pystack.engine import NativeReportingMode, get_process_threads
    from pystack.errors import PystackError

    logging.getLogger("pystack").addHandler(logging.NullHandler())
    try:
        threads = get_process_threads(pid, native_mode=NativeReportingMode.ALL)
    except (PystackError, OSError, RuntimeError) as error:
        reason = str(error).removeprefix("Engine error: ").rstrip(".")
        if not reason.startswith(_NO_PYTHON):
            raise UnreadableStacks(f"its functions cannot be read ({reason})") from error
        return _read_program(pid)
    return {thread.tid: _informative(_merged(thread)) for thread in threads}


def _read_program(pid: int) -> dict[int, tuple[Frame, ...]]:
    try:
        threads = _calls_of_program(pid)
    except (OSError, AttributeError) as error:  # this build of pystack does not contain libdwfl
        raise UnreadableStacks(f"its functions cannot be read ({error})") from error
    return {
        tid: _informative(frame for call in calls[::-1] for frame in _compiled(call))
        for tid, calls in threads.items()
    }


def _merged(thread: "PyThread") -> Iterator[Frame]:
    """Merges compiled and Python frames. Python frames replace those of the interpreter."""
    from pystack.types import NativeFrame, frame_type

    groups: list[list[Frame]] = []
    for function in thread.frames:
        # Each entry frame is a call of the interpreter's evaluation loop.
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
            # A loop that is just starting has no Python frame yet.
            yield from groups.pop(0) if groups else ()
        elif kind == NativeFrame.FrameType.OTHER:
            yield from _compiled(native)


_RUNTIME_LIBRARIES = re.compile(
    r"(^|/)(python[\d.]*|libpython[^/]*|libc[.-][^/]*|libpthread[^/]*|libm[.-][^/]*|ld-[^/]*"
    r"|libgcc_s[^/]*|libstdc\+\+[^/]*|linux-vdso[^/]*)$|^\[vdso|/lib-dynload/"
)
"""Libraries whose frames add nothing to the system call or the Python frames."""


def _compiled(frame: "NativeFrame | _Call") -> Iterator[Frame]:
    if _RUNTIME_LIBRARIES.search(frame.library):
        return
    if frame.symbol.startswith("?"):  # the library has no symbols
        yield Frame(f"[{Path(frame.library).name}]")
    else:
        file = "" if frame.path.startswith("?") else _short(frame.path)
        yield Frame(_readable(frame.symbol), file=file, line=max(frame.linenumber, 0))


_STARTERS = {
    "runpy.py": None, "<frozen runpy>": None,
    "threading.py": ("_bootstrap", "_bootstrap_inner", "run"),
}  # fmt: skip
"""Functions of the standard library that only call others, by file; ``None`` for all of a file."""
_RUNTIME_FUNCTIONS = re.compile(
    r"(std|core|alloc|pyo3|tokio::runtime::(context|scheduler|coop|task)|parking_lot(_core)?"
    r"|crossbeam\w*|futures_(util|core)|backtrace|hashbrown|tracing(_core)?)::|(__)?rust_"
    r"|_R\w*_(3std|4core|5alloc)|_?Py[A-Z_]|FnOnce|_start$"
)
"""Functions of language runtimes, mostly of Rust; names that begin with ``_R`` are mangled."""


def _informative(frames: Iterator[Frame]) -> tuple[Frame, ...]:
    """Drops repetitions, and functions of runtimes unless there are no others."""
    distinct = [frame for frame, _ in groupby(frames)]
    return tuple(frame for frame in distinct if not _is_of_runtime(frame)) or tuple(distinct)


def _is_of_runtime(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        names = _STARTERS.get(frame.file.rpartition("/")[2], ())
        return names is None or frame.name in names
    return bool(_RUNTIME_FUNCTIONS.match(frame.name))


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
    """Removes the escapes, suffixes and type arguments that compilers add to a name."""
    if "$" in name:
        name = _ESCAPED.sub(lambda hit: _ESCAPES.get(hit[2]) or chr(int(hit[1] or "20", 16)), name)
        name = re.sub(r"(^|::)_(?=[<{])", r"\1", name.replace("..", "::"))
    name = _ADDED.sub("", name)
    short, longer = _TRAIT.sub(r"\1", name), ""
    while short != longer:
        short, longer = _TYPE_ARGUMENTS.sub("", short), short
    return short.replace("::::", "::").strip(": ") or name


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:]) if not path.startswith("<") else path


_POINTER, _INT, _BOOL, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_bool, ctypes.c_char_p
_ADDRESS = ctypes.c_uint64
_Each = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER)
"""A callback for each thread or frame; a return value other than 0 ends the iteration."""
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "dwfl_begin": (_POINTER, _POINTER),
    "dwfl_end": (None, _POINTER),
    "dwfl_errmsg": (_TEXT, _INT),
    "dwfl_linux_proc_report": (_INT, _POINTER, _INT),
    "dwfl_report_end": (_INT, _POINTER, _POINTER, _POINTER),
    "dwfl_linux_proc_attach": (_INT, _POINTER, _INT, _BOOL),
    "dwfl_getthreads": (_INT, _POINTER, _Each, _POINTER),
    "dwfl_thread_tid": (_INT, _POINTER),
    "dwfl_thread_getframes": (_INT, _POINTER, _Each, _POINTER),
    "dwfl_frame_pc": (_BOOL, _POINTER, ctypes.POINTER(_ADDRESS), ctypes.POINTER(_BOOL)),
    "dwfl_addrmodule": (_POINTER, _POINTER, _ADDRESS),
    "dwfl_module_info": (_TEXT, *[_POINTER] * 8),
    "dwfl_module_addrname": (_TEXT, _POINTER, _ADDRESS),
    "__cxa_demangle": (_POINTER, _TEXT, *[_POINTER] * 3),
    "free": (None, _POINTER),
}
"""The functions of libdwfl, with the types of result and arguments."""


class _Call(NamedTuple):
    """A frame like those of pystack, where unknown values begin with ``?``."""

    symbol: str
    library: str
    path: str = "?"
    linenumber: int = 0


def _calls_of_program(pid: int) -> dict[int, list[_Call]]:
    """The frames of each thread, the innermost first, from the elfutils that pystack contains.

    See libdwfl.h. Raises ``OSError``.
    """
    from pystack import _pystack

    library = ctypes.CDLL(_pystack.__file__)
    dw: dict[str, Any] = {}
    for name, kinds in _FUNCTIONS.items():
        dw[name] = ctypes.CFUNCTYPE(*kinds)((name, library))
    finders = (library.dwfl_linux_proc_find_elf, library.dwfl_standard_find_debuginfo)
    # The members of struct Dwfl_Callbacks: both finders, section_address, debuginfo_path.
    callbacks = (_POINTER * 4)(*(ctypes.cast(finder, _POINTER).value for finder in finders))
    session = dw["dwfl_begin"](ctypes.cast(callbacks, _POINTER))
    threads: dict[int, list[_Call]] = {}

    def add_thread(thread: int, _argument: object) -> int:
        calls = threads[dw["dwfl_thread_tid"](thread)] = []

        def add_frame(state: int, _argument: object) -> int:
            address, is_exact = _ADDRESS(), _BOOL()
            if not dw["dwfl_frame_pc"](state, address, is_exact):
                return 1
            # A return address follows the call, and may belong to the next function.
            call_address = address.value - (not is_exact.value)
            if module := dw["dwfl_addrmodule"](session, call_address):
                calls.append(_call(dw, module, call_address))
            return 0

        dw["dwfl_thread_getframes"](thread, _Each(add_frame), None)
        return 0

    try:
        if (
            dw["dwfl_linux_proc_report"](session, pid)
            or dw["dwfl_report_end"](session, None, None)
            or dw["dwfl_linux_proc_attach"](session, pid, False)
            or dw["dwfl_getthreads"](session, _Each(add_thread), None)
            or not any(threads.values())
        ):
            raise OSError(_text(dw["dwfl_errmsg"](-1)))
    finally:
        dw["dwfl_end"](session)
    return threads


def _call(dw: dict[str, Any], module: int, address: int) -> _Call:
    symbol = dw["dwfl_module_addrname"](module, address)
    if readable := dw["__cxa_demangle"](symbol, None, None, None):
        symbol = ctypes.string_at(readable)
        dw["free"](readable)
    return _Call(_text(symbol), _text(dw["dwfl_module_info"](module, *[None] * 7)))


def _text(text: bytes | None) -> str:
    return (text or b"?").decode("utf-8", "replace")
