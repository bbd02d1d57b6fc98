"""The scenarios: those of dataflows, in ``input``, and those of worker files, in ``worker``."""

from waitbench.families import input as input_families
from waitbench.families import worker
from waitbench.model import metrics
from waitbench.model.metrics import Metric
from waitbench.model.scenario import Scenario

ALL: tuple[Scenario, ...] = input_families.SCENARIOS
"""Every scenario of a dataflow, in the order in which they run."""

METRICS: tuple[Metric, ...] = tuple(
    dict.fromkeys(
        (
            *metrics.METRICS,
            *(m for s in ALL for m in s.family.metrics),
            *worker.METRICS,
            *worker.UNTIL_EXIT,
        )
    )
)
"""Everything that a run of any scenario may give: what all have, then what only a family has."""
