"""Who does not answer any more. Pure: no clock, no network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Change:
    """A machine that has fallen silent, or answers again."""

    name: str
    silent_s: float
    """For how long it has not answered; 0 where it answers again."""


@dataclass
class Silence:
    """When each machine was heard last, by marks of its that change whenever it is alive."""

    patience_s: float
    """Who is heard of no later than this is not silent."""
    _heard: dict[str, tuple[object, float]] = field(default_factory=dict)
    """The last mark of each, and when it was new."""
    _silent: set[str] = field(default_factory=set)

    def look(self, marks: Mapping[str, object], now_s: float) -> Sequence[Change]:
        """What has changed since the last look; ``now_s`` is of a clock that never goes back.

        Marks are compared with those of before only: they may be of another machine's clock.
        """
        changes = []
        for name, mark in marks.items():
            before, since_s = self._heard.get(name, (None, now_s))
            if name not in self._heard or mark != before:
                self._heard[name] = mark, now_s
                if name in self._silent:
                    changes.append(Change(name=name, silent_s=0.0))
                self._silent.discard(name)
            elif now_s - since_s > self.patience_s and name not in self._silent:
                self._silent.add(name)
                changes.append(Change(name=name, silent_s=now_s - since_s))
        return changes
