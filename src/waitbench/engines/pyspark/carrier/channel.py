"""How the process that reads tells the driver of it: two named pipes in a folder of the run.

Whoever tells waits until it was heard, so that what the driver then observes is of that moment.
Nobody looks whether there is anything over and over.
"""

import json
import os
from typing import Any, Dict, Optional

_TOLD, _HEARD = "told", "heard"


class Teller:
    """The end in the process that reads."""

    def __init__(self, folder: str) -> None:
        self._told = os.open(os.path.join(folder, _TOLD), os.O_WRONLY)
        self._heard = os.open(os.path.join(folder, _HEARD), os.O_RDONLY)

    def tell(self, **what: int) -> None:
        os.write(self._told, json.dumps(what).encode() + b"\n")
        os.read(self._heard, 1)


class Listener:
    """The end in the driver. Made before anybody can have anything to tell."""

    def __init__(self, folder: str) -> None:
        paths = [os.path.join(folder, name) for name in (_TOLD, _HEARD)]
        for path in paths:
            os.mkfifo(path)
        # For both directions: so it opens at once, and has no end.
        told, self._heard = (os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in paths)
        self._writing = os.open(paths[0], os.O_WRONLY | os.O_CLOEXEC)
        self._told = os.fdopen(told, "rb", buffering=0)

    def next(self) -> Optional[Dict[str, Any]]:
        """Blocks until something is told; ``None`` if there will be nothing any more."""
        line = self._told.readline()
        return json.loads(line) or None

    def heard(self) -> None:
        os.write(self._heard, b"\n")

    def over(self) -> None:
        """Has ``next`` return ``None``; from any thread."""
        os.write(self._writing, b"{}\n")
