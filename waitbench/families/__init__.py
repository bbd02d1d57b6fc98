"""The families of workloads, one module each: their scenarios, what to expect of a run, what they need."""

from waitbench.families.embedding import scenarios as embedding
from waitbench.families.input import scenarios as waiting
from waitbench.families.paged_output import scenarios as paged_output
from waitbench.families.scoring import scenarios as scoring
from waitbench.model.scenario import Scenario

ALL: tuple[Scenario, ...] = (
    *waiting.SCENARIOS, *scoring.SCENARIOS, *embedding.SCENARIOS, *paged_output.SCENARIOS,
)  # fmt: skip
"""Every scenario there is, in the order in which they run."""
