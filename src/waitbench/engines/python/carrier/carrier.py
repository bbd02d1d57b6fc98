"""Carries the workloads on the floor for Python; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS
"""

from typing import Any, Callable, Optional, Sequence, Tuple

from support.carrying import Sources, dynamic_source, partitioned_source, sink
from support.holding import Alarm, Hold
from support.loading import carried
from support.states import Alarms, Windows
from waitbench_floor import Dataflow

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]


def build_dataflow(
    _name: str,
    source: Sources,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Callable[[], Any],
    hold: Optional[Hold] = None,
) -> Dataflow:
    """A straight dataflow: a source, what holds its items, each ``(name, function)``, an output."""

    def work(item: Any) -> Any:
        for _, step in steps:
            item = step(item)
        return item

    held = None
    if hold is not None:
        held = Alarms(hold) if isinstance(hold, Alarm) else Windows(hold)
    return Dataflow(source(), work, output().write, held)


if __name__ == "__main__":
    carried().run()
