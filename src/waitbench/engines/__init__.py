"""Engines: bytewax, or what a worker file describes; all else uses ``base.Engine``."""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import SCENARIOS

__all__ = ["DEFAULT", "SCENARIOS"]

DEFAULT: Engine = bytewax.ENGINE
