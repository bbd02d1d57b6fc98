"""Regressions that a project accepts for a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from waitbench.analysis.criteria import Criterion


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """A regression that a project accepts for a time: one entry of ``accepted.toml``."""

    criterion: str
    """As on the command line, or only the name of a metric: then every criterion of it."""
    scenario: str
    """A glob, which all scenarios of a question must match."""
    reason: str
    until: str
    """The last day, in ISO 8601."""
    at_most: float | None = None
    """A rise, as a share, that is certainly beyond this is not accepted."""
    is_over: bool = False
    """Whether its day is past."""

    def __str__(self) -> str:
        return f"{self.criterion} in {self.scenario}"

    def accepts(self, criterion: Criterion, scenarios: Sequence[str], low: float | None) -> bool:
        """Whether it accepts a rise whose ratio has this lower bound."""
        is_meant = self.criterion in (str(criterion), criterion.metric.name)
        is_small = self.at_most is None or (low is not None and low <= 1 + self.at_most)
        is_there = all(fnmatchcase(one, self.scenario) for one in scenarios)
        return is_meant and is_small and is_there and not self.is_over

    def stands(self, high: float | None) -> bool:
        """Whether it accepts a rise whose ratio has this upper bound, whatever else is measured."""
        return self.at_most is None or (high is not None and high <= 1 + self.at_most)
