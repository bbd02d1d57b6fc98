"""What nobody foresaw -> one sentence, and the details where they can be found."""

import sys
import tempfile
import time
import traceback
from pathlib import Path

from waitbench.model.errors import masked
from waitbench.system.places import Cache


def explain(error: Exception) -> str:
    """Writes the traceback to a log; what to tell the user."""
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
