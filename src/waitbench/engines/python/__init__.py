"""The floor for Python: threads that block, and nothing between them but a queue."""

from pathlib import Path

from waitbench.engines.carried import CARRIER, Carried
from waitbench.model.scenario import ALARM, NEXT_AWAKE, WINDOW

_HERE = Path(__file__).resolve().parent


class Python(Carried):
    """``python@floor``: a program of ours, on the comparison's interpreter."""

    name = "python"
    example = "floor"
    package = "waitbench-floor"
    module = "waitbench_floor"
    smoke_test = "import waitbench_floor"
    own_sources: Path | None = _HERE / "sources"
    carrier: Path | None = _HERE / CARRIER
    capabilities = frozenset({NEXT_AWAKE, WINDOW, ALARM})

    def version_of(self, name: str) -> str | None:
        return name if name == "floor" else None

    def remark(self) -> str:
        return "a thread for each source, one that maps and writes; all block; keeps no snapshots"


ENGINE = Python()
