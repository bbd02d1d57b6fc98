"""faust, as faust-streaming keeps it: agents on one asyncio loop, and aiokafka on another.

Seen to work beside a broker of version 4.1: 0.11.3 (Python 3.10), 0.12.1 (3.12) and 0.15.3 (3.12,
3.13), the first and the last with aiokafka 0.14.0. 0.13.2 fails by itself when it is given
partitions, and hangs.
"""

from collections.abc import Mapping
from types import MappingProxyType

from waitbench.engines.base import Knob
from waitbench.engines.carried import Carried
from waitbench.model.scenario import KAFKA


class Faust(Carried):
    """``faust@VERSION``: a worker with one agent, and a consumer in a thread of its own."""

    name = "faust"
    example = "0.15.3"
    package = "faust-streaming"
    module = "faust"
    smoke_test = "import faust; faust.App, faust.Worker"
    settings: Mapping[str, Knob] = MappingProxyType(
        {
            "broker_commit_interval": Knob(default="2.8"),
            "broker_heartbeat_interval": Knob(default="3.0"),
        }
    )
    """Seconds between commits, and between signs of life to the group."""
    only: str | None = KAFKA
    capabilities = frozenset({KAFKA})

    def remark(self) -> str:
        return (
            "one consumer in a group of its own, on aiokafka, in a thread beside the event loop of "
            "its agent; commits; has the broker hold an empty answer back for 1.5 s, whatever is "
            "set"
        )


ENGINE = Faust()
