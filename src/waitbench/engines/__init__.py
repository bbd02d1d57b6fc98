"""Engines: bytewax and worker files. Of the general modules, only this one names bytewax."""

from waitbench.engines.base import Engine
from waitbench.engines.bytewax import Bytewax
from waitbench.engines.bytewax.scenarios import SCENARIOS

__all__ = ["DEFAULT", "SCENARIOS"]

DEFAULT: Engine = Bytewax()
