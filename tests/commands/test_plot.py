"""``./plot.sh``: which charts it draws of which results, and its exit code."""

from pathlib import Path

import pytest

from tests.conftest import Said
from tests.gate_runs import record_of, rounds, scaled
from tests.records import make_record, outcome, times
from tests.reporting.test_page import gate
from tests.store.keeping import finish
from waitbench.model.record import ScenarioResults
from waitbench.store import folders

BASE = rounds(1, 0.5)
ALONE = make_record({"only": [times(1, 1, 1)] * 2})
GATED = record_of(BASE, scaled(BASE, 2.0, 2.0))


@pytest.mark.parametrize(
    ("record", "settings", "names"),
    [
        (ALONE, {}, ["costs"]),
        (GATED, {}, ["costs", "overview"]),
        (GATED, gate("cpu:10%"), ["costs", "overview", "gate"]),
    ],
    ids=["one revision", "two revisions", "a gate"],
)
def test_it_names_the_charts_that_it_draws(
    record: ScenarioResults,
    settings: dict[str, object],
    names: list[str],
    said: Said,
    tmp_path: Path,
) -> None:
    finish(tmp_path, record, **settings)
    code, out, err = said("plot", tmp_path)
    assert (code, out.split(), err) == (0, [str(tmp_path / f"{name}.png") for name in names], "")
    assert sorted(tmp_path.glob("*.png")) == sorted(map(Path, out.split()))


def test_without_results_it_says_what_to_do(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders.existing_folder, "__kwdefaults__", {"store": tmp_path})
    unmeasured = make_record({"old": [], "new": []})
    unmeasured.add(outcome("new", 1, "failed", message="exit code 1"))
    finish(tmp_path / "failed", unmeasured)
    for arguments in ((), (tmp_path / "missing",), (tmp_path / "failed",)):
        code, out, err = said("plot", *arguments)
        assert (code, out) == (2, ""), err
        assert "./compare.sh v0.16.0 v0.16.1" in err
