"""What a comparison takes over from the interrupted one that it goes on with."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.criteria import parse
from tests.records import describing, make_record, measurement, outcome, specify, times
from tests.store.keeping import finish
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS
from waitbench.model.record import ComparisonHeader, ScenarioResults, Shard
from waitbench.model.run import DISTURBED, FAILED, NOT_BUILT, SUPERSEDED, TIMED_OUT, WARM_UP
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.preparation import begin, interruption_message, require_same, resume_record
from waitbench.store import comparisons
from waitbench.system import shutdown
from waitbench.system.files import sha256

SAME = [times(1, 1, 1)] * 3


@pytest.fixture
def anew() -> ScenarioResults:
    return make_record({"a": [], "b": []})


def test_what_failed_before_stays_failed_but_is_tried_again(anew: ScenarioResults) -> None:
    earlier = make_record({"a": SAME, "b": SAME[:2]})
    earlier.add(outcome("b", 3, TIMED_OUT))
    earlier.add(outcome("b", 1, DISTURBED))
    resume_record(anew, earlier)
    (discarded,) = (it for it in anew.failed_runs if it.reason == SUPERSEDED)
    assert (discarded.label, discarded.round) == ("a", 3)
    assert [(run.label, run.round) for run in anew.measurements] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip
    assert anew.failed_runs == [*earlier.failed_runs, discarded]
    assert (anew.why_given_up("b"), anew.awaits_repeats) == (None, frozenset({3}))
    assert [one.label for one in anew.failures] == ["b"]
    again = replace(anew, measurements=[*anew.measurements], failed_runs=[*anew.failed_runs])
    again.add(outcome("b", 3, FAILED))
    assert (len(again.failures), again.awaits_repeats) == (2, frozenset())
    anew.add(measurement("a", 3, SAME[0]))
    anew.add(measurement("b", 3, SAME[0]))
    assert (anew.failures, anew.awaits_repeats) == ([], frozenset())


def test_an_interruption_within_the_new_round_leaves_no_round_of_two_days(
    anew: ScenarioResults, tmp_path: Path
) -> None:
    earlier = make_record({"a": SAME, "b": SAME[:2]})
    finish(tmp_path, earlier)
    path = tmp_path / "runs.jsonl"
    path.write_text(path.read_text() + '{"scenario": "wai')
    said: list[str] = []
    header = describing([anew], {})
    (record,) = begin(tmp_path, header, {"waiting": anew}, said.append).records
    assert said == [f"The last line of {str(path)!r} is cut off, and left out."]
    tomorrow = replace(measurement("b", 3, SAME[0]), started_at="2026-01-02T00:00:00+00:00")
    comparisons.append(tmp_path, record, tomorrow)
    (left,) = comparisons.read(tmp_path).records
    assert [left.is_whole(number) for number in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize("has_resume", [True, False])
def test_only_a_command_that_has_resume_is_said_to_go_on_with_it(
    has_resume: bool, tmp_path: Path
) -> None:
    message = interruption_message(tmp_path, has_resume=has_resume)
    assert (str(tmp_path) in message, "--resume" in message) == (True, has_resume)


def test_an_interruption_before_the_first_run_names_no_folder(tmp_path: Path) -> None:
    with shutdown.advice_if_interrupted(tmp_path, "kept"):
        assert (shutdown.advice(), shutdown.has_advice()) == ("Nothing had been measured.", False)
        (tmp_path / "runs.jsonl").touch()
        assert (shutdown.advice(), shutdown.has_advice()) == ("kept", True)
    assert not shutdown.has_advice()


def test_a_program_that_loads_another_file_now_is_another_program(
    anew: ScenarioResults, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    real.write_text("one")
    earlier = make_record({"a": [], "b": SAME[:1]})
    earlier.add(measurement("a", 1, SAME[0], loaded={str(real): sha256(real)}))
    resume_record(anew, earlier)
    assert anew.loaded("a") == {str(real): sha256(real)}
    for change in (lambda: real.write_text("two"), real.unlink):
        change()
        with pytest.raises(UsageError, match=f"a had loaded {real}, which has changed since"):
            resume_record(make_record({"a": [], "b": []}), earlier)


def test_warm_ups_stay_beside_the_rounds_that_they_confirm(
    anew: ScenarioResults, tmp_path: Path
) -> None:
    earlier = make_record({"a": SAME, "b": SAME})
    earlier.add(measurement("b", WARM_UP, SAME[0]))
    resume_record(anew, earlier)
    comparisons.begin(tmp_path, describing([anew]), [anew])
    (stored,) = comparisons.read(tmp_path).records
    assert stored.warm_ups == anew.warm_ups == earlier.warm_ups


def test_a_warm_up_that_failed_is_that_of_the_session_before(anew: ScenarioResults) -> None:
    earlier = make_record({"a": SAME, "b": SAME})
    earlier.add(outcome("b", WARM_UP, FAILED, message="boom", log="last words"))
    resume_record(anew, earlier)
    (discarded,) = anew.failed_runs
    assert (discarded.reason, discarded.message, discarded.log) == (
        SUPERSEDED, "failed: boom", "last words"
    )  # fmt: skip
    assert (anew.failures, len(anew.measurements)) == ([], 6)


HALF = Shard(scenarios=("one",), of=("one", "two"), index=1, count=2)
GATE = Gate(criteria=parse(["cpu:5%"], METRICS), most_rounds=30)


def asked(*names: str, items: int = 5, **settings: object) -> ComparisonHeader:
    """What a comparison of some scenarios was begun with."""
    named = [
        specify(make_record({"a": []}, scenario=name), parameters={"items": items})
        for name in names or ("one", "two")
    ]
    return describing(named, {"gate": GATE, "instruments": [], **settings})


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (asked("one"), "other scenarios, so"),
        (asked(items=6), "other parameters of one"),
        (replace(asked("one"), shard=HALF), "other shards"),
        (replace(asked(), topology="cluster"), "other topologies, so"),
        (replace(asked(), revisions=make_record({"b": []}).context.revisions), "other revisions"),
        (asked(instruments=["system_calls"]), "other kernel counters, so"),
        (asked(gate=None), "other criteria, so"),
        (asked(gate=replace(GATE, criteria=())), "other criteria"),
    ],
)
def test_a_resume_asks_what_was_asked_before_and_may_take_longer(
    now: ComparisonHeader, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        require_same(tmp_path, asked(), now)
    with pytest.raises(UsageError):
        require_same(tmp_path, now, asked())
    gate = replace(GATE, most_rounds=60, budget_s=9.0)
    longer = asked(gate=gate, rounds=20, time_limit_s=5)
    require_same(tmp_path, asked(), longer)


def test_what_could_not_be_built_before_and_is_built_now_is_measured(
    anew: ScenarioResults, tmp_path: Path
) -> None:
    now = asked()
    before = replace(now, revisions=tuple(replace(one, build=None) for one in now.revisions))
    require_same(tmp_path, before, now)
    require_same(tmp_path, now, before)
    earlier = make_record({"a": SAME, "b": []})
    earlier.add(outcome("b", 0, NOT_BUILT))
    resume_record(anew, earlier)
    assert anew.measurements == [], "b would be paired with a of another day"
    assert {(run.label, run.reason) for run in anew.failed_runs} == {("a", SUPERSEDED)}


def test_an_environment_that_cannot_be_built_again_gets_no_runs(anew: ScenarioResults) -> None:
    for record in (anew, earlier := make_record({"a": SAME, "b": []})):
        record.add(outcome("b", WARM_UP, NOT_BUILT, message="no compiler"))
    resume_record(anew, earlier)
    assert anew.why_given_up("b") == "b was not built: no compiler"


def test_what_another_machine_measured_is_not_gone_on_with(anew: ScenarioResults) -> None:
    earlier = make_record({"a": SAME, "b": SAME})
    there = {"fingerprint": "elsewhere"}
    here = replace(
        anew, context=replace(anew.context, machine={"fingerprint": "here"}), measurements=[]
    )
    for foreign in (
        replace(earlier, spec=replace(earlier.spec, machine=there)),  # since it was merged
        replace(earlier, context=replace(earlier.context, machine=there)),
    ):
        with pytest.raises(UsageError, match="another machine"):
            resume_record(here, foreign)
    resume_record(here, replace(earlier, spec=replace(earlier.spec, machine=here.context.machine)))
    assert len(here.measurements) == 6
    resume_record(anew, earlier)
    assert len(anew.measurements) == 6, "earlier files do not tell machines apart"
