"""Fixtures of sessions."""

import pytest

from waitbench.execution import concurrency


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "usable_cpus", lambda: 2)
