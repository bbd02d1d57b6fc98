"""Engines: bytewax, or what a worker file describes; all else uses ``base.Engine``."""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import SCENARIOS, user_dataflow
from waitbench.engines.worker.metrics import UNTIL_EXIT, WAITING
from waitbench.model import metrics
from waitbench.model.metrics import Metric

__all__ = ["DEFAULT", "METRICS", "SCENARIOS", "user_dataflow"]

DEFAULT: Engine = bytewax.ENGINE
METRICS: tuple[Metric, ...] = tuple(dict.fromkeys((*metrics.METRICS, *WAITING, *UNTIL_EXIT)))
"""All metrics except those that a worker file declares."""
