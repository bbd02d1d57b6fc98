"""Regressions that a project accepts for a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase


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

    def accepts(self, criterion: str, metric: str, scenarios: Sequence[str]) -> bool:
        """Whether it accepts that a criterion of a metric fails in these scenarios."""
        is_meant = self.criterion in (criterion, metric)
        is_there = all(fnmatchcase(one, self.scenario) for one in scenarios)
        return is_meant and is_there
