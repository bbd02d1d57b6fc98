"""Timelines in files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.strategies import labels
from waitbench.model.errors import UsageError
from waitbench.model.run import ThreadSample
from waitbench.store import csv_files

samples = st.builds(
    ThreadSample,
    label=labels,
    time_s=st.integers(0, 10**6).map(lambda ms: ms / 1000),
    process=labels,
    thread=labels,
    share=st.integers(0, 10_000).map(lambda parts: parts / 10_000),
)


@pytest.mark.parametrize("content", ["", "revision,time_s,process,thread,cpu_share\n"])
def test_an_empty_file_has_no_samples(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x-timeline.csv"
    path.write_text(content)
    assert csv_files.read_timeline(path) == []


@given(st.lists(samples, max_size=4))
def test_samples_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, samples: list[ThreadSample]
) -> None:
    path = tmp_path_factory.getbasetemp() / "x-timeline.csv"
    csv_files.write_timeline(path, samples)
    assert csv_files.read_timeline(path) == samples


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "revision,time_s,process,thread,cpu_share\na,soon,w,t,0.5\n"]
)
def test_a_file_that_is_not_a_timeline_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "x-timeline.csv").write_text(text)
    with pytest.raises(UsageError, match=r"x-timeline\.csv' is not a result file"):
        csv_files.read_timeline(tmp_path / "x-timeline.csv")
