"""``report``: the folders that it reads."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Said
from waitbench.store import comparisons
from waitbench.system.paths import ROOT

SAMPLES = ROOT / "docs" / "samples"


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in SAMPLES.rglob(comparisons.COMPARISON_NAME)), ids=str
)
def test_every_sample_has_a_report(folder: object, said: Said) -> None:
    code, _, err = said("report", folder)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("command", ["report", "plot"])
def test_a_folder_of_several_comparisons_names_one_of_them(command: str, said: Said) -> None:
    code, out, err = said(command, SAMPLES / "history")
    assert (code, out) == (2, "")
    assert f"Name one of 5 in it, such as {SAMPLES / 'history' / '1'}." in err


def test_the_parent_of_one_comparison_is_no_folder_of_workers(tmp_path: Path, said: Said) -> None:
    shutil.copytree(SAMPLES / "waiting", tmp_path / "results" / "20261130T000000Z-a-b")
    code, out, err = said("report", tmp_path / "results")
    assert (code, out) == (2, "")
    assert "Name the one in it: " in err


@pytest.mark.parametrize("price", ["0.04", "0/core-hour", "-1/core-hour", "1e9/core-hour", ""])
def test_a_price_is_an_amount_for_a_core_hour(price: str, said: Said) -> None:
    code, out, err = said("report", f"--price={price}", SAMPLES / "input")
    assert (code, out) == (2, "")
    assert "is not AMOUNT/core-hour, such as 0.04/core-hour" in err
