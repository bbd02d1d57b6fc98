"""What commands of families show."""

import io
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from waitbench.families import presenting
from waitbench.model.errors import HarnessError
from waitbench.reporting.document import Table


def test_tables_and_charts_are_shown_with_where_they_are(tmp_path: Path) -> None:
    output = Console(file=io.StringIO(), width=80)
    table = Table("a title", ("", "x"), (("row", "1"),))
    presenting.show([table], {"chart": Figure()}, tmp_path, "load", output)
    assert isinstance(output.file, io.StringIO)
    assert output.file.getvalue().startswith("a title\n")
    assert output.file.getvalue().endswith(f"Results in {tmp_path}: load.json, chart.png\n")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    output = Console(file=io.StringIO())
    with pytest.raises(HarnessError, match=r"chart\.png cannot be written"):
        presenting.show([], {"chart": Figure()}, tmp_path / "gone", "load", output)
