"""Unforeseen exceptions -> one sentence, with the details in a log."""

import errno
import os
import sys
import time
import traceback
from contextlib import suppress
from types import TracebackType

from waitbench.model.errors import ExitCode, masked
from waitbench.system.installation import program_name
from waitbench.system.places import Cache
from waitbench.system.streams import printable

_REFUSALS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOMEM,
    errno.EMFILE, errno.ENFILE, errno.EAGAIN,
}  # fmt: skip


def explain(error: Exception) -> str:
    """Returns a message for the user; logs the traceback unless the system refused something."""
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        what = f"{error.filename}: " if error.filename else ""
        return masked(f"the system reports an error: {what}{error.strerror}.")
    if isinstance(error, ImportError):
        return f"{error}. In a clone, remove .bench/venv: the next start installs it again."
    text = masked("".join(traceback.format_exception(error)))
    what = masked(" ".join(f"{type(error).__name__}: {error}".split()))[:300]
    message = f"an unexpected error: {what}."
    path = Cache().root / "logs" / f"crash-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{' '.join(map(masked, sys.argv))}\n{text}", "utf-8", "replace")
    except OSError:
        return f"{message} Please report it:\n{text}"
    return f"{message} The details are in {path}; please report it with them."


def end(_type: type[BaseException], error: BaseException, _where: TracebackType | None) -> None:
    """Ends this process: Python's own exit code for uncaught exceptions means a regression here."""
    message = f"{type(error).__name__}: {error}"
    with suppress(OSError):
        if isinstance(error, Exception):
            message = explain(error)
    with suppress(OSError):
        print(printable(f"{program_name()}: {message}"), file=sys.stderr, flush=True)
    os._exit(ExitCode.FAILED)
