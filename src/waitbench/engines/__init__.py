"""Engines: bytewax, or what a worker file describes; all else uses ``base.Engine``."""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import SCENARIOS, user_dataflow

__all__ = ["DEFAULT", "SCENARIOS", "user_dataflow"]

DEFAULT: Engine = bytewax.ENGINE
