"""The Pythons of this machine."""

import json
from pathlib import Path

from waitbench.environments import interpreters
from waitbench.system.places import Cache


def test_this_machines_interpreters_are_found_without_shims(cache: Cache) -> None:
    found = interpreters.installed(cache)
    assert found, "the Python that runs this test at least"
    for python in found:
        assert Path(python.executable).is_file()
        assert "shims" not in python.executable
    assert [p.minor for p in found] == sorted({p.minor for p in found}, reverse=True)


def test_what_was_learnt_of_them_is_kept_and_may_be_lost(cache: Cache) -> None:
    answers = cache.folder("") / "interpreters.json"
    found = interpreters.installed(cache)
    assert {python.executable for python in found} <= {
        known["executable"] for known in json.loads(answers.read_text()).values() if known
    }
    answers.write_text("garbage")
    assert interpreters.installed(cache) == found
