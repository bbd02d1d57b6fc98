"""Stacks of programs without Python, read by elfutils (libdwfl.h), in pystack's copy."""

import ctypes
from typing import Any, NamedTuple

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
"""Types of the result and of the arguments."""


class Call(NamedTuple):
    """A frame like pystack's: unknown values begin with ``?``."""

    symbol: str
    library: str
    path: str = "?"
    linenumber: int = 0


def read(pid: int) -> dict[int, list[Call]]:
    """The frames in files of each thread, the innermost first. Raises ``OSError``."""
    from pystack import _pystack

    library = ctypes.CDLL(_pystack.__file__)
    dw: dict[str, Any] = {}
    for name, kinds in _FUNCTIONS.items():
        dw[name] = ctypes.CFUNCTYPE(*kinds)((name, library))
    finders = (library.dwfl_linux_proc_find_elf, library.dwfl_standard_find_debuginfo)
    # struct Dwfl_Callbacks: these, section_address, debuginfo_path.
    callbacks = (_POINTER * 4)(*(ctypes.cast(finder, _POINTER).value for finder in finders))
    session = dw["dwfl_begin"](ctypes.cast(callbacks, _POINTER))
    threads: dict[int, list[Call]] = {}

    def add_thread(thread: int, _argument: object) -> int:
        calls = threads[dw["dwfl_thread_tid"](thread)] = []

        def add_frame(state: int, _argument: object) -> int:
            address, is_exact = _ADDRESS(), _BOOL()
            if not dw["dwfl_frame_pc"](state, address, is_exact):
                return 1
            # The return address of a function's last call is after the function.
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


def _call(dw: dict[str, Any], module: int, address: int) -> Call:
    symbol = dw["dwfl_module_addrname"](module, address)
    if readable := dw["__cxa_demangle"](symbol, None, None, None):
        symbol = ctypes.string_at(readable)
        dw["free"](readable)
    return Call(_text(symbol), _text(dw["dwfl_module_info"](module, *[None] * 7)))


def _text(text: bytes | None) -> str:
    return (text or b"?").decode("utf-8", "replace")
