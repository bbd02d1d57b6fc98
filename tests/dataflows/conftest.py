"""Workloads without an engine."""

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def load_workload(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a dataflow's module without an engine, and forgets it again."""
    loaded = []

    def load(name: str) -> Any:
        monkeypatch.setitem(sys.modules, "support.api", ModuleType("support.api"))
        loaded.append(name)
        return importlib.import_module(name)

    yield load
    for name in loaded:
        sys.modules.pop(name, None)
    if "support" in sys.modules:
        vars(sys.modules["support"]).pop("api", None)
