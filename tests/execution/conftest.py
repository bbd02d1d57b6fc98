"""Fixtures of sessions."""

import pytest

from waitbench.execution import concurrency, session


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (concurrency, session):
        monkeypatch.setattr(module, "usable_cpus", lambda: 2)
