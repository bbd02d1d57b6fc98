"""One thing that measuring takes, as ``doctor`` finds it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that measuring takes."""

    what: str
    here: str
    """What this machine has."""
    costs: str = ""
    """What its lack costs; empty where nothing is lacking."""
    remedy: str = ""
    """The command that would mend it, where one would."""
    is_needed: bool = False
    """Whether nothing can be compared without it."""
