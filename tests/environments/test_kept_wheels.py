"""Wheels in the cache: a damaged one is noticed."""

from pathlib import Path

import pytest

from waitbench.environments import sources


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    return sources.keep_wheel(wheel, tmp_path / "kept")


def test_a_wheel_is_found_as_it_was_put_there(kept: Path) -> None:
    assert sources.find_wheel(kept.parent) == kept
    assert kept.read_bytes() == b"wheel"


@pytest.mark.parametrize("content", [b"", b"whee", b"wheels"])
def test_a_damaged_wheel_is_removed(content: bytes, kept: Path) -> None:
    kept.write_bytes(content)
    assert sources.find_wheel(kept.parent) is None
    assert list(kept.parent.iterdir()) == []


def test_a_wheel_that_nobody_vouches_for_is_not_taken(kept: Path) -> None:
    kept.with_name(f"{kept.name}.sha256").unlink()
    assert sources.find_wheel(kept.parent) is None
