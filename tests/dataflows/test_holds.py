"""What a stateful step of a workload holds."""

import pytest
from support import items
from support.holding import Alarm, Window


def test_a_workload_holds_by_source_or_not_at_all() -> None:
    assert items.hold(8, 0.0, 0.0) is None
    window = items.hold(8, 5.0, 0.0)
    assert isinstance(window, Window)
    assert [window.key((ident, 0, 0)) for ident in (0, 7, 8)] == ["0", "0", "1"]
    assert isinstance(items.hold(8, 0.0, 5.0), Alarm)
    with pytest.raises(ValueError, match="window and alarm"):
        items.hold(8, 1.0, 1.0)
