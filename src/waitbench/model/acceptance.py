"""Regressions that a project accepts for a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """One entry of ``accepted.toml``."""

    criterion: str
    """As on the command line; or the name of a metric, for every criterion about it."""
    scenario: str
    """A glob, which all scenarios of a question must match."""
    reason: str
    until: str
    """The last day, in ISO 8601."""

    def accepts(self, criterion: str, metric: str, scenarios: Sequence[str]) -> bool:
        return self.criterion in (criterion, metric) and all(
            fnmatchcase(name, self.scenario) for name in scenarios
        )
