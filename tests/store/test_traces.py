"""Traces in files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.strategies import labels
from waitbench.model.errors import UsageError
from waitbench.model.run import PHASES, Calls, Trace
from waitbench.store import csv_files

nanoseconds = st.integers(0, 10**12).map(lambda ns: ns / 1e9)
made = st.builds(Calls, count=st.integers(1, 10**9), cpu_s=nanoseconds)


@st.composite
def traced(draw: st.DrawFn) -> Trace:
    """A trace with a call in every phase, as each run has."""
    calls = draw(st.dictionaries(st.tuples(st.sampled_from(PHASES), labels), made, max_size=4))
    calls |= {(phase, "exit"): draw(made) for phase in PHASES}
    return Trace(
        label=draw(labels), lasted_s={phase: draw(nanoseconds) for phase in PHASES}, calls=calls
    )


@given(st.lists(traced(), max_size=3, unique_by=lambda trace: trace.label))
def test_traces_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, several: list[Trace]
) -> None:
    path = tmp_path_factory.getbasetemp() / "x.trace.csv"
    csv_files.write_traces(path, several)
    assert csv_files.read_traces(path) == several


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "revision,phase,phase_s,call,count,cpu_s\na,steady,1,futex,many,0\n"]
)
def test_a_file_that_is_not_a_trace_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.trace.csv").write_text(text)
    with pytest.raises(UsageError, match=r"x\.trace\.csv' is not a result file"):
        csv_files.read_traces(tmp_path / "x.trace.csv")


def test_a_scenario_that_was_not_traced_has_no_traces(tmp_path: Path) -> None:
    trace = Trace(
        label="a",
        lasted_s=dict.fromkeys(PHASES, 1.0),
        calls={("steady", "futex"): Calls(count=3, cpu_s=0.001)},
    )
    csv_files.write_traces(tmp_path / f"idle{csv_files.TRACE_SUFFIX}", [trace])
    (found,) = csv_files.traces_of(tmp_path, "idle")
    assert found.count("steady", "futex") == 3
    assert csv_files.traces_of(tmp_path, "busy") == []
