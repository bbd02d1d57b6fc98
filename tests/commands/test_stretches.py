"""What there is to search in, where a request does not fit what is known of an engine."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from waitbench import engines
from waitbench.analysis.bisection import Grain
from waitbench.commands.search import History
from waitbench.model.errors import UsageError
from waitbench.model.revision import Origin, Revision, Source
from waitbench.system.places import Cache


def history(only: Grain, engine: str, cache: Path) -> History:
    """Between two releases that have no wheel of an index."""
    specs = [
        SimpleNamespace(
            revision=Revision(
                label=text, text=text, engine=engine, source=Source(Origin.WHEEL, text)
            ),
            origin=Origin.SOURCE,
        )
        for text in ("0.1.0", "0.2.0")
    ]
    request: Any = SimpleNamespace(specs=specs, engine=engines.named(engine), cache=Cache(cache))
    return History(only, request)


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        (engines.DEFAULT.name, "no Python here has a wheel of both ends"),
    ],
)
def test_releases_without_wheels_are_not_taken_for_commits(
    engine: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        history(Grain.RELEASES, engine, tmp_path).first()
    assert says in str(refused.value)
