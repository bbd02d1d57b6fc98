"""The families of workloads, one module each: their scenarios, what to expect of a run, what they need."""

from harness.families import embedding, paged_output, scoring, waiting
from harness.scenarios import Scenario

ALL: tuple[Scenario, ...] = (
    *waiting.SCENARIOS, *scoring.SCENARIOS, *embedding.SCENARIOS, *paged_output.SCENARIOS,
)  # fmt: skip
"""Every scenario there is, in the order in which they run."""
