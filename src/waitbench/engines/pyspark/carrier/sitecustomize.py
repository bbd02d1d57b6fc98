"""No CPU time of a Python worker is lost. Python runs this at the start of each process of Spark.

Spark's daemons, which fork its Python workers, ignore ``SIGCHLD``. Then the kernel does not keep
for anyone what their children have used (getrusage(2)): not for the daemon, nor for those above it,
nor for whatever measures them all. Here that signal stays what it is. A worker that has ended is
kept by the kernel until its daemon has ended too; the driver inherits it then, and waits for it.
Nothing else is different.
"""

import signal
import sys
from typing import Any

_DAEMON = "pyspark.daemon"

if _DAEMON in sys.orig_argv:
    _set = signal.signal

    def _unless_children_are_ignored(number: Any, handler: Any) -> Any:
        if number == signal.SIGCHLD and handler == signal.SIG_IGN:
            return signal.getsignal(number)
        return _set(number, handler)

    signal.signal = _unless_children_are_ignored  # type: ignore[assignment]
