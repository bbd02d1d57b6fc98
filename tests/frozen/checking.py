"""Text that was frozen: a change of it shows up in review as a change of a file."""

import os
import re
from pathlib import Path

EXPECTED = Path(__file__).parent / "expected"
_LONG_FLOAT = re.compile(r"\d+\.\d{10,}(?:e[-+]\d+)?")


def check(name: str, said: str) -> None:
    """Compares with what was said when it was frozen. ``UPDATE_FROZEN=1`` writes it.

    The last digits of a float depend on the processor: libraries choose their code by it.
    """
    path = EXPECTED / name
    said = _LONG_FLOAT.sub(lambda found: f"{float(found[0]):.10g}", said)
    if os.environ.get("UPDATE_FROZEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said, "utf-8")
    assert said == path.read_text("utf-8")
