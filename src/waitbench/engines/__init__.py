"""Engines: bytewax and worker files. Other packages know only ``base.Engine``."""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import SCENARIOS

__all__ = ["DEFAULT", "SCENARIOS"]

DEFAULT: Engine = bytewax.ENGINE
