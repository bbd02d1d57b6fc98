"""Charts as files."""

import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from tests.gate_runs import failing
from tests.reporting.charts.figures import compared, steady_runs
from waitbench.model.errors import HarnessError
from waitbench.reporting import charts
from waitbench.reporting.answer import findings


def test_every_chart_that_there_is_data_for_is_written_in_every_format(tmp_path: Path) -> None:
    runs = {"a": steady_runs(2), "b": steady_runs(2)}
    waiting, other = compared(runs), compared(runs, scenario="other", waits=False)
    found = findings([waiting, other], failing())
    files = charts.draw_all(found, tmp_path, ["png", "svg"])
    names = ("overview", "gate", "waiting-tradeoff")
    assert files == [tmp_path / f"{name}.{form}" for name in names for form in ("png", "svg")]
    for path in files:
        start = path.read_bytes()[:8]
        assert start == (b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else b"<?xml ve")


@pytest.mark.parametrize("file_format", ["png", "svg"])
def test_the_same_figures_give_the_same_bytes(file_format: str, tmp_path: Path) -> None:
    comparison = compared({"a": steady_runs(2), "b": steady_runs(3)})
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        drawn = charts.draw_all(findings([comparison]), tmp_path / name, [file_format])
        contents.append([path.read_bytes() for path in drawn])
    assert contents[0] == contents[1]


def test_a_chart_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"missing/chart\.svg cannot be written"):
        charts.save(Figure(), tmp_path / "missing", "chart", "svg")


def test_no_text_in_a_chart_has_control_characters(tmp_path: Path) -> None:
    hostile = "a\x1b[31m\x07\u202eb"
    comparison = compared({"a": steady_runs(2), hostile: steady_runs(2)}, scenario=hostile)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one would quote them on stderr
        drawn = charts.draw_all(findings([comparison]), tmp_path, ["png", "svg"])
    assert len(drawn) == 4
    for path in drawn:
        if path.suffix == ".svg":
            said = "".join(ElementTree.parse(path).getroot().itertext())
            assert "a\ufffd[31m\ufffd\ufffdb" in said, path
