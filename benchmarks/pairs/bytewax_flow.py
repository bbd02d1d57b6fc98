"""A dataflow of bytewax 0.16 whose source never has an item."""

from typing import Any

from bytewax.connectors.stdio import StdOutput
from bytewax.dataflow import Dataflow
from bytewax.inputs import PartitionedInput, StatefulSource


class Silence(StatefulSource):  # type: ignore[misc, unused-ignore]
    """A partition that never has an item."""

    def next(self) -> None:
        return None

    def snapshot(self) -> None:
        return None


class SilentInput(PartitionedInput):  # type: ignore[misc, unused-ignore]
    """Sixteen silent partitions."""

    def list_parts(self) -> set[str]:
        return {f"part-{number}" for number in range(16)}

    def build_part(self, _part: str, _resume_state: Any) -> Silence:
        print("ready", flush=True)
        return Silence()


flow = Dataflow()
flow.input("silence", SilentInput())
flow.output("out", StdOutput())
