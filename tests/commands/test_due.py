"""What is measured next: what a history lacks."""

from tests.analysis.test_history import STEADY
from tests.records import contestant, facts, make_record, outcome
from waitbench.model.record import Series
from waitbench.model.run import TIMED_OUT
from waitbench.pipeline.stored_sessions import measured, tried


def test_what_hung_was_tried_and_what_was_cut_off_was_not() -> None:
    revisions = tuple(
        contestant(name, facts=facts(package_version=name.removeprefix("v")))
        for name in ("v1", "v2", "v3", "v4")
    )
    runs = {"v1": [{STEADY: 1.0}] * 3, "v2": [], "v3": [{STEADY: 1.0}], "v4": []}
    record = make_record(runs, revisions=revisions)
    record.add(outcome("v2", 1, TIMED_OUT))
    assert [name for _, _, name in tried(record.context, [record])] == ["v1", "v2"]


def test_what_lacks_one_of_the_scenarios_is_not_measured() -> None:
    idle, busy, other = (Series.of(name, "single", {"length_s": 2}) for name in ("i", "b", "o"))
    known = {("e", idle, name) for name in ("v1", "v2", "v3")}
    known |= {("e", busy, "v1"), ("e", busy, "v2"), ("another", busy, "v3")}
    assert measured(known, "e", [idle, busy]) == {"v1", "v2"}
    assert measured(known, "e", [idle]) == {"v1", "v2", "v3"}
    assert measured(known, "e", [idle, other]) == set()
    longer = Series.of("i", "single", {"length_s": 20})
    assert measured(known, "e", [longer]) == set()


def test_builds_of_different_compilers_are_measured_again() -> None:
    record = make_record({"v1": [{STEADY: 1.0}] * 3}, mixed_origins=True)
    assert list(tried(record.context, [record])) == []
