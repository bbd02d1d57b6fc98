"""How one installation is told from another."""

from collections.abc import Callable
from pathlib import Path

import pytest

from waitbench.system import installation


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        (lambda folder: (folder / "deep" / "b.py").write_text("2"), True),
        (lambda folder: (folder / "deep" / "b.py").rename(folder / "b.py"), True),
        (lambda folder: (folder / "deep" / "c.py").touch(), True),
        (lambda folder: (folder / "deep" / "b.pyc").touch(), False),
    ],
)
def test_sources_are_told_apart_by_names_and_contents(
    change: Callable[[Path], object], is_another: bool, tmp_path: Path
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text("1")
    before = installation.digest(tmp_path)
    assert installation.digest(tmp_path) == before
    change(tmp_path)
    assert (installation.digest(tmp_path) != before) is is_another
