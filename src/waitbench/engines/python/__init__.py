"""The floor for Python: threads that block, and nothing between them but a queue."""

from waitbench.engines.carried import Carried
from waitbench.model.scenario import ALARM, NEXT_AWAKE, WINDOW


class Python(Carried):
    """``python@floor``: a program of ours, on the comparison's interpreter."""

    name = "python"
    example = "floor"
    package = "waitbench-floor"
    module = "waitbench_floor"
    smoke_test = "import waitbench_floor"
    capabilities = frozenset({NEXT_AWAKE, WINDOW, ALARM})

    def version_of(self, name: str) -> str | None:
        return name if name == "floor" else None

    def remark(self) -> str:
        return "a thread for each source, one that maps and writes; all block; keeps no snapshots"


ENGINE = Python()
