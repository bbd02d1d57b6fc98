"""Series: what must be equal for figures of several comparisons to be of one history."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class Series(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A scenario as it was measured."""

    scenario: str
    topology: str
    """Such as ``single`` or ``2 processes × 1 worker (cluster)``."""
    parameters: str
    """Of the scenario: a JSON object, its keys sorted."""

    @classmethod
    def of(cls, scenario: str, topology: str, parameters: Mapping[str, object]) -> "Series":
        """The series of such runs."""
        return cls(scenario, topology, json.dumps(dict(parameters), sort_keys=True))

    @property
    def as_mapping(self) -> Mapping[str, Any]:
        """The parameters by name."""
        found: dict[str, Any] = json.loads(self.parameters)
        return found


def titles(series: Iterable[Series]) -> dict[Series, str]:
    """What to call each of some series; no two have the same title.

    That is scenario and topology, and the parameters in which others of these differ.
    """
    by_place: dict[tuple[str, str], list[Series]] = {}
    for one in dict.fromkeys(series):
        by_place.setdefault((one.scenario, one.topology), []).append(one)
    return {
        one: ", ".join((scenario, topology, *_apart(one, alike)))
        for (scenario, topology), alike in by_place.items()
        for one in alike
    }


def _apart(one: Series, alike: Iterable[Series]) -> list[str]:
    """The parameters in which a series is not as the others are."""
    own, others = one.as_mapping, [other.as_mapping for other in alike]
    missing = object()
    return [
        f"{name} {json.dumps(own[name])}" if name in own else f"no {name}"
        for name in sorted({name for other in others for name in other})
        if any(other.get(name, missing) != own.get(name, missing) for other in others)
    ]
