"""Wheels that were built here: a damaged one is noticed."""

from pathlib import Path

import pytest

from tests import standin
from waitbench.environments import wheels


def test_a_wheel_is_found_as_it_was_built(tmp_path: Path) -> None:
    wheel = standin.write_wheel(tmp_path)
    assert wheels.find(tmp_path) == wheel


@pytest.mark.parametrize("damage", ["empty", "cut off", "changed"])
def test_a_damaged_wheel_is_not_taken(damage: str, tmp_path: Path) -> None:
    wheel = standin.write_wheel(tmp_path)
    whole = wheel.read_bytes()
    damaged = {
        "empty": b"", "cut off": whole[:-100], "changed": whole.replace(b"hello", b"jello", 1)
    }  # fmt: skip
    wheel.write_bytes(damaged[damage])
    assert wheels.find(tmp_path) is None
