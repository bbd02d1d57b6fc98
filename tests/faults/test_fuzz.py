"""Random command lines, names of revisions and result files; tests/faults/fuzz.py tries more."""

from pathlib import Path

import pytest

from tests.faults import fuzz
from waitbench.environments.repository import Repository
from waitbench.store import comparisons

EXAMPLES = 150
SEED = 1


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_nothing_gets_past_the_checks(kind: str) -> None:
    ended, faults = fuzz.try_all(kind, SEED, range(EXAMPLES))
    assert faults == []
    assert sum(ended.values()) == EXAMPLES
    assert len(ended) == 2, "some are refused, and some make sense"


def test_a_traceback_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_arguments: object) -> None:
        raise IndexError

    monkeypatch.setattr(Repository, "find_commit", crash)
    monkeypatch.setattr(comparisons, "read", crash)
    for kind in fuzz.KINDS:
        _, faults = fuzz.try_all(kind, SEED, range(30))
        assert faults
        assert all("IndexError" in fault for fault in faults)


def test_what_is_created_for_nothing_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(*_arguments: object) -> None:
        Path("stray").mkdir(exist_ok=True)

    monkeypatch.setattr(Repository, "find_commit", create)
    for kind in ("command lines", "names of revisions"):
        _, faults = fuzz.try_all(kind, SEED, range(60))
        assert faults
        assert all("stray" in fault for fault in faults)
