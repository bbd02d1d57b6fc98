"""The stacks of a process that is stopped: of Python by py-spy, of all else by gdb."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from waitbench.model.why import NATIVE, PYTHON, Frame

PYTHON_UNWINDER, NATIVE_UNWINDER = "py-spy", "gdb"
_WITHIN_S = 30.0
_MOST_FRAMES = 100
_ARGUMENTS = "print frame-arguments presence"
INTERPRETER = Frame("_PyEval_EvalFrameDefault")


@dataclass(frozen=True)
class PythonThread:
    """What a thread is doing that Python knows."""

    ident: int
    """Its number in Python."""
    tid: int | None
    """Its number in the kernel; Python knows it from 3.11 on."""
    name: str
    frames: tuple[Frame, ...]
    """The outermost first."""
    entries: tuple[bool, ...]
    """Of each, whether the interpreter was called anew for it."""


class NotSeen(Exception):
    """Why stacks could not be read, to end a sentence."""


_OF_PYTHON = re.compile(r"/(lib)?python[^/\s]*( \(deleted\))?$|/lib/python\d[^/]*/", re.MULTILINE)
_MADE = re.compile(r"^\S+ ..x\S* \S+ \S+ 0 *(//anon.*|\[anon.*)?$", re.MULTILINE)
"""Memory that can be executed, of no file."""


def runs_python(pid: int) -> bool:
    """Whether a process has loaded Python; one that cannot be read is taken for such."""
    return bool(_OF_PYTHON.search(_memory(pid) or "/python"))


def why_unseen(pid: int) -> str | None:
    """Why functions of a process without Python have no names; ``None`` where they have."""
    program = f"/proc/{pid}/exe", _program(pid)
    if _has_section(*program, ".note.go.buildid"):
        return "goroutines that wait are on no thread (Go)"
    if _MADE.search(_memory(pid)):
        return "they are compiled while it runs (JIT)"
    return "it is stripped" if _is_stripped(*program) else None


def _memory(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text("utf-8", "replace")
    except OSError:
        return ""


def find_python_unwinder() -> str | None:
    """py-spy, as it was installed with this program, or found on the PATH."""
    beside = Path(sys.executable).parent / PYTHON_UNWINDER
    return str(beside) if beside.is_file() else shutil.which(PYTHON_UNWINDER)


def of_python(pid: int) -> list[PythonThread]:
    """The functions of Python of a process that is stopped. Raises ``NotSeen``."""
    return _of_python(pid, "--nonblocking")


def of_python_with_compiled(pid: int) -> list[PythonThread]:
    """The same of one that is not, with compiled functions between its own. Raises ``NotSeen``.

    It is stopped for that, at whatever moment.
    """
    return _of_python(pid, "--native")


def _of_python(pid: int, how: str) -> list[PythonThread]:
    program = find_python_unwinder()
    if program is None:
        raise NotSeen(f"{PYTHON_UNWINDER} is not installed")
    said = _output([program, "dump", "--json", how, "--pid", str(pid)])
    try:
        return [_of_thread(pid, thread) for thread in json.loads(said)]
    except (ValueError, KeyError, TypeError) as error:
        raise NotSeen(f"what {PYTHON_UNWINDER} wrote cannot be read ({error!r})") from error


def of_compiled(pid: int) -> Mapping[int, tuple[Frame, ...]]:
    """The compiled functions of a process that is stopped, by thread. Raises ``NotSeen``.

    Where Python's interpreter runs something, there is ``INTERPRETER``.
    """
    program = shutil.which(NATIVE_UNWINDER)
    if program is None:
        raise NotSeen(f"{NATIVE_UNWINDER} is not installed")
    settings = ("auto-load off", "debuginfod enabled off", "width 0", _ARGUMENTS)
    words = [program, "-nx", "-batch", "-p", str(pid)]
    words += [word for one in settings for word in ("-iex", f"set {one}")]
    said = _output([*words, "-ex", f"thread apply all backtrace {_MOST_FRAMES}"])
    found = dict(_of_gdb(pid, said))
    if not found:
        raise NotSeen(f"{NATIVE_UNWINDER} saw no thread")
    return found


def merged(python: PythonThread, compiled: Sequence[Frame]) -> tuple[Frame, ...]:
    """Both in one, the outermost first; those of Python alone where they do not fit together."""
    groups: list[list[Frame]] = []
    for function, is_entry in zip(python.frames, python.entries, strict=True):
        if is_entry or not groups:
            groups.append([])
        groups[-1].append(function)
    if compiled.count(INTERPRETER) < len(groups):
        return python.frames
    found: list[Frame] = []
    for frame in compiled:
        if frame != INTERPRETER:
            found.append(frame)
        elif groups:  # of a function that only begins there is none yet
            found += groups.pop(0)
    return _tidied(found)


def _output(words: Sequence[str]) -> str:
    """What a program prints. Raises ``NotSeen`` with its last words."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotSeen(f"{Path(words[0]).name}: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line]
        why = next((line for line in lines if "rror" in line), lines[-1] if lines else "it failed")
        raise NotSeen(f"{Path(words[0]).name}: {why.strip().rstrip('.')}")
    return done.stdout.decode("utf-8", "replace")


def _of_thread(pid: int, thread: Mapping[str, Any]) -> PythonThread:
    found = [(_of_pyspy(pid, frame), frame) for frame in reversed(thread["frames"])]
    shown = [(frame, said) for frame, said in found if frame is not None]
    return PythonThread(
        ident=thread["thread_id"],
        tid=thread["os_thread_id"],
        name=thread["thread_name"] or "",
        frames=tuple(frame for frame, _ in shown),
        entries=tuple(said["is_entry"] or said["is_shim_entry"] for _, said in shown),
    )


def _of_pyspy(pid: int, frame: Mapping[str, Any]) -> Frame | None:
    name, line = frame["name"], int(frame["line"] or 0)
    if frame["module"] is None:
        return Frame(name, PYTHON, _short(frame["filename"]), line)
    return _native(pid, name, frame["module"], frame["filename"], line)


_THREAD = re.compile(r"^Thread \d+ \((?:Thread \S+ \()?(?:LWP|process) (\d+)\b")
_FRAME = re.compile(
    r"^#\d+\s+(?:0x[0-9a-f]+ in )?(.+?) \((?:\.\.\.|\w+=.*)?\)(?: at (.+):(\d+)| from (.+))?$"
)


def _of_gdb(pid: int, said: str) -> Iterator[tuple[int, tuple[Frame, ...]]]:
    """The stacks in gdb's words."""
    tid, frames = 0, list[Frame | None]()
    for line in [*said.splitlines(), "Thread 0 (process 0)"]:
        begins = _THREAD.match(line)
        if begins is None:
            frame = _FRAME.match(line)
            if frame is not None:
                name, file, number, module = frame.groups()
                # Of the program itself it does not name the file.
                module = module or ("" if file else _program(pid))
                frames.append(_native(pid, name, module, file or "", int(number or 0)))
            continue
        if tid:
            yield tid, _tidied(reversed(frames))
        tid, frames = int(begins[1]), []


def _program(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


_RUNTIME = re.compile(
    r"(^|/)(python[\d.]*|libpython[^/]*|libc[.-][^/]*|libpthread[^/]*|libm[.-][^/]*|ld-[^/]*"
    r"|libgcc_s[^/]*|libstdc\+\+[^/]*|linux-vdso[^/]*|\[vdso\])$"
    r"|^(\./)?(Python|Objects|Modules|Include|Parser)/[^/]+(/[^/]+)*\.[ch]$|/sysdeps/|^\./nptl/"
)
"""Libraries whose frames say nothing that the system call and Python's own frames do not."""
_ENTRY = re.compile(
    r"^(_start|__libc_.*|start_thread|(__)?clone3?|syscall|__GI_.*"
    r"|\?\?|0x[0-9a-f]+|<unknown>)$"
)


def _native(pid: int, name: str, module: str, file: str, line: int) -> Frame | None:
    """A compiled frame; ``None`` for one that says nothing."""
    if name == INTERPRETER.name:
        return INTERPRETER
    if _RUNTIME.search(module) or _RUNTIME.search(file):
        return None
    if module and _is_stripped(f"/proc/{pid}/root{module}", module):
        # The nearest name that is exported need not be the function's.
        return Frame(f"[{Path(module).name}]")
    name = _readable(name)
    if _ENTRY.match(name):
        return Frame(f"[{Path(module).name}]") if module and "?" in name else None
    return Frame(name, NATIVE, "" if file == module else _short(file), line)


def _tidied(frames: Iterable[Frame | None]) -> tuple[Frame, ...]:
    """Those that say something; what repeats itself only once."""
    found: list[Frame] = []
    for frame in frames:
        if frame is not None and (not found or frame != found[-1] or frame == INTERPRETER):
            found.append(frame)
    return tuple(found)


_HASH = re.compile(
    r"(::h[0-9a-f]{16}|\[[0-9a-f]{8,}\]|\.(llvm|isra|part|constprop|lto_priv)\.\d+|\.cold(\.\d+)?$)"
)
_NUMBERED = re.compile(r"::\{\{closure\}\}|::\{closure#\d+\}|(?<=\{impl)#\d+")
_ARGUMENTS_OF_TYPES = re.compile(r"(?<!operator)<(?:[-=]>|[^<>])*>")
_TRAIT = re.compile(r"^<(?:dyn |&|mut )*(.+?) as .+?>(?=::[^<>]*$)")


def _readable(name: str) -> str:
    """A function's name without what a compiler adds to it."""
    name = _NUMBERED.sub("", _HASH.sub("", name))
    plain, longer = _TRAIT.sub(r"\1", name), ""
    while plain != longer:
        plain, longer = _ARGUMENTS_OF_TYPES.sub("", plain), plain
    return plain.replace("::::", "::").strip(": ") or name


def _short(path: str) -> str:
    """The last two parts of a path."""
    return "/".join(Path(path).parts[-2:]) if not path.startswith("<") else path


@cache
def _has_section(path: str, _module: str, name: str) -> bool | None:
    """Whether an ELF file has a section; ``None`` where that cannot be read."""
    try:
        with Path(path).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return (
                content.rfind(b"\0%s\0" % name.encode()) >= 0 if content[:4] == b"\x7fELF" else None
            )
    except (OSError, ValueError):
        return None


def _is_stripped(path: str, module: str) -> bool:
    """Whether a library has no table of symbols but of what it exports."""
    return _has_section(path, module, ".symtab") is False
