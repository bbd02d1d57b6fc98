"""What was announced is kept, once, and what is not ours is refused and kept."""

from pathlib import Path

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.record import Announced, Series
from waitbench.store import acknowledged

WAITING = Series.of("waiting", "single", {"length_s": 2})
STEP = Announced(series=WAITING, metric="steady", after="v2", rose=True)
OTHER = Announced(series=Series.of("a", "b", {}), metric="steady", after="c", rose=False)


def test_change_points_are_kept_once(tmp_path: Path) -> None:
    assert acknowledged.read(tmp_path) == frozenset()
    acknowledged.add(tmp_path, [STEP])
    acknowledged.add(tmp_path, [STEP, OTHER])
    assert acknowledged.read(tmp_path) == {STEP, OTHER}
    path = tmp_path / "acknowledged.json"
    path.write_text('{"format": 3}')
    with pytest.raises(UsageError, match=r"acknowledged\.json"):
        acknowledged.add(tmp_path, [STEP])
    assert path.read_text() == '{"format": 3}'
