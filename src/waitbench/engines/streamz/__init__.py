"""streamz: pipelines of plain calls, with sources that an event loop runs."""

from collections.abc import Mapping
from types import MappingProxyType

from waitbench.engines.base import Knob
from waitbench.engines.carried import Carried
from waitbench.model.scenario import ALARM, NEXT_AWAKE, WINDOW


class Streamz(Carried):
    """https://github.com/python-streamz/streamz, from 0.6.2 on, with asyncio's event loop.

    Those before 0.6.5 import ``pkg_resources``, which setuptools has no more:
    ``streamz@0.6.4+setuptools==80.9.0``.
    """

    name = "streamz"
    example = "0.6.6"
    package = "streamz"
    module = "streamz"
    smoke_test = "import streamz"
    # As its own sources that look for news call it, in seconds; 0 waits until there is some.
    settings: Mapping[str, Knob] = MappingProxyType({"poll_interval": Knob(default="0")})
    capabilities = frozenset({NEXT_AWAKE, WINDOW, ALARM})

    def remark(self) -> str:
        return (
            "one event loop; a source passes each item through all steps itself before it waits "
            "again; a window holds all keys as one; keeps no snapshots"
        )


ENGINE = Streamz()
