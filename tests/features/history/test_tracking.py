"""``track`` as a nightly job has it, and what is measured next."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from tests.conftest import Compare, Planned, written
from tests.features.history.test_trends import STEADY
from tests.records import facts, make_record, make_revision, outcome
from waitbench.features.history.sessions import tried
from waitbench.features.history.track import measured, series_of
from waitbench.model.record import Series
from waitbench.model.run import DISTURBED, TIMED_OUT
from waitbench.model.scenario import Scenario, Topology
from waitbench.pipeline.request import ValidRequest

QUICK = ("-s", "dynamic", "--metric", "cpu", "--rounds", "4", "--quiet")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """Four commits; the third costs twice as much, and the last does not build."""
    return written(tmp_path_factory, 0.15, 0.15, 0.3, None)


def test_each_night_measures_what_is_missing_and_says_a_confirmed_step_once(
    run_compare: Compare, planned: Planned, tmp_path: Path
) -> None:
    folder, ids = planned
    store = tmp_path / "kept"
    names = [one[:10] for one in ids]

    def night(branch: str, *extra: str) -> tuple[int, list[str]]:
        done = run_compare(
            branch, "--repo", folder, "--results", store, *QUICK, *extra,
            command="track",
        )  # fmt: skip
        return done.returncode, done.stdout.splitlines()

    anchored = ("--anchor", ids[0])
    no_time = ("--budget", "0.001")
    code, said = night(ids[2], *anchored, *no_time)
    assert code == 0
    assert not store.exists()
    assert said[0].startswith(f"1 of 2: {names[0]} {names[2]}: ")
    # The newest alone: one session says that it costs more.
    code, said = night(ids[2], *anchored, "--newest", "1")
    assert code == 0
    assert f"from {names[2]} on" not in " ".join(said)
    # Nobody names the anchor any more; a second session comes first, and confirms it.
    code, said = night(ids[2])
    assert code == 1
    assert "only one session says" in said[0]
    assert f"total CPU from {names[2]} on: ▲" in " ".join(said)
    kept = json.loads((store / "acknowledged.json").read_text())
    assert kept["change_points"][0]["after"] == names[2]
    code, said = night(ids[2])
    assert (code, said) == (0, ["Nothing is missing from the history."])
    # The same scenario at another length is another history, and lacks everything.
    _, said = night(ids[2], *anchored, "--full", *no_time)
    assert said[0].startswith("1 of 2: ")
    # What cannot be built is said, and takes nothing away.
    code, said = night("main")
    assert code == 3
    assert "made not to build" in " ".join(said)


def test_what_hung_was_tried_and_what_was_cut_off_was_not() -> None:
    revisions = tuple(
        make_revision(name, build=facts(package_version=name.removeprefix("v")))
        for name in ("v1", "v2", "v3", "v4")
    )
    runs = {"v1": [{STEADY: 1.0}] * 3, "v2": [], "v3": [{STEADY: 1.0}], "v4": []}
    record = make_record(runs, revisions=revisions)
    record.add(outcome("v2", 1, TIMED_OUT))
    assert [names for *_, names in tried(record.context, [record])] == [{"v1", "v2"}]
    disturbed = [replace(run, marks=(DISTURBED,)) for run in record.measurements]
    assert [*tried(record.context, [replace(record, measurements=disturbed)])] == []


def test_what_lacks_one_of_the_scenarios_is_not_measured() -> None:
    idle, busy, other = (Series(name, "single", '{"length_s": 2}') for name in ("i", "b", "o"))
    known = {("e", idle, frozenset({"v1", name})) for name in ("v2", "v3")}
    known |= {("e", busy, frozenset({"v1", "v2"})), ("another", busy, frozenset({"v1", "v3"}))}
    assert measured(known, "e", [idle, busy], "v1") == {"v1", "v2"}
    assert measured(known, "e", [idle], "v1") == {"v1", "v2", "v3"}
    assert measured(known, "e", [idle, other], "v1") == set()
    longer = Series("i", "single", '{"length_s": 20}')
    assert measured(known, "e", [longer], "v1") == set()
    assert measured(known, "e", [idle], "v2") == {"v1", "v2"}, "v3 was not beside v2"


def test_a_series_has_the_topology_that_its_scenario_fixes() -> None:
    topology = Topology("cluster", 2)
    scenarios = (Scenario(name="a"), Scenario(name="b", topology=topology))
    valid = SimpleNamespace(topology=Topology("single"), scenarios=scenarios)
    assert series_of(cast(ValidRequest, valid)) == [
        Series("a", "single", "{}"), Series("b", "cluster, 2 processes", "{}"),
    ]  # fmt: skip
