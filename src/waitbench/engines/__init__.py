"""What is under test: bytewax, or what a worker file describes.

All else asks an engine through ``base.Engine``.
"""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.of_users import users_dataflow
from waitbench.engines.bytewax.scenarios import SCENARIOS
from waitbench.engines.worker.metrics import UNTIL_EXIT, WAITING
from waitbench.model import metrics
from waitbench.model.metrics import Metric

__all__ = ["DEFAULT", "METRICS", "SCENARIOS", "users_dataflow"]

DEFAULT: Engine = bytewax.ENGINE
"""Whose revisions are compared, where there is no worker file."""
METRICS: tuple[Metric, ...] = tuple(dict.fromkeys((*metrics.METRICS, *WAITING, *UNTIL_EXIT)))
"""Everything that a run may give, but for what one worker file alone declares."""
