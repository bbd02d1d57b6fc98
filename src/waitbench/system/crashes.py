"""What nobody foresaw -> one sentence, and the details where they can be found."""

import errno
import os
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType

from waitbench.model.errors import ExitCode, masked
from waitbench.system.installation import program_name
from waitbench.system.places import PACKAGE, ROOT, Cache
from waitbench.system.streams import printable

_REFUSALS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOMEM,
    errno.EMFILE, errno.ENFILE, errno.EAGAIN,
}  # fmt: skip
"""What the system says when it is not the program that is at fault."""


_LIBRARIES = ROOT / ".bench" / "venv"
_HEALED = "BENCH_HEALED"
"""Set where the libraries have just been installed anew: once is enough."""


def explain(error: Exception) -> str:
    """Writes the traceback to a log, unless the system refuses something; what to tell the user."""
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        what = f"{error.filename}: " if error.filename else ""
        return masked(f"the system refuses to go on: {what}{error.strerror}.")
    if note_damage(error):
        what = f"{type(error).__name__}: {error}"
        return f"the libraries in .bench/venv are damaged ({what}); the next start repairs them."
    text = masked("".join(traceback.format_exception(error)))
    what = masked(" ".join(f"{type(error).__name__}: {error}".split()))[:300]
    said = f"something that nobody foresaw went wrong ({what})."
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}.log"
    for parent in (Cache().root / "logs", Path(tempfile.gettempdir())):
        try:
            parent.mkdir(parents=True, exist_ok=True)
            path = parent / name
            path.write_text(f"{' '.join(map(masked, sys.argv))}\n{text}", "utf-8", "replace")
        except OSError:
            continue
        return f"{said} The details are in {path}; please report it with them."
    return f"{said} Please report it:\n{text}"


def end(_type: type[BaseException], error: BaseException, _where: TracebackType | None) -> None:
    """Ends this process for what nobody caught: Python's own exit code is that of a regression.

    Libraries that are damaged are installed anew, and the program is started once more.
    """
    said = f"{type(error).__name__}: {error}"
    with suppress(OSError):
        if isinstance(error, Exception):
            if note_damage(error) and not os.environ.get(_HEALED):
                sys.stdout.flush()
                program = str(ROOT / "waitbench")
                again = [program, *sys.argv[1:]]
                os.execve(program, again, {**os.environ, _HEALED: "1"})  # noqa: S606
            said = explain(error)
    with suppress(OSError):
        print(printable(f"{program_name()}: {said}"), file=sys.stderr, flush=True)
    os._exit(ExitCode.FAILED)


def note_damage(error: Exception) -> bool:
    """Whether it is the set-up libraries that are damaged; the next start installs them anew."""
    if Path(sys.prefix) != _LIBRARIES or not _is_of_libraries(error):
        return False
    try:
        (_LIBRARIES / "damaged").touch()
    except OSError:
        return False
    return True


def _is_of_libraries(error: Exception) -> bool:
    """Whether a module of a library is missing, or cannot be read or run as it is imported."""
    frames = traceback.extract_tb(error.__traceback__)
    raised_in = frames[-1].filename
    ours = str(PACKAGE.parent) in raised_in or raised_in == str(ROOT / "runner.py")
    if isinstance(error, ImportError) and error.name is not None:
        is_foreign = error.name.partition(".")[0] != PACKAGE.name
        return is_foreign and (ours or _is_library(raised_in)) and _is_library(error.path)
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        return _is_library(error.obj.__file__)
    if isinstance(error, SyntaxError):
        return error.filename is not None and _is_library(error.filename)
    # As it is imported: what a library raises while it works may be anybody's fault.
    return _is_library(raised_in) and frames[-1].name == "<module>"


def _is_library(file: str | None) -> bool:
    """Whether a module's file is there, or would be: ``None`` stands for one that is missing."""
    return file is None or _LIBRARIES in Path(file).parents
