"""What is measured next, and what is said of it."""

from tests.analysis.test_history import told
from waitbench.analysis.history import due, measured, trends, unsaid
from waitbench.analysis.sittings import TriedRevision
from waitbench.model.series import Series

CONFIRMED = told("1", {"v1": 1, "v2": 2}) + told("2", {"v1": 1, "v2": 2})
ONCE = told("1", {"v1": 1, "v2": 2})


def test_the_newest_comes_first_beside_the_anchor_and_the_nearest_measured() -> None:
    found = [one.revisions for one in due(["a", "b", "c", "d", "e"], {"a", "c"}, "anchor", ())]
    assert found == [("anchor", "c", "e"), ("anchor", "c", "d"), ("anchor", "a", "b")]


def test_the_anchor_is_a_neighbour_too_and_named_once() -> None:
    assert [one.revisions for one in due(["a", "b"], (), "a", ())] == [("a", "b")]
    assert [one.revisions for one in due(["a"], (), "z", ())] == [("z", "a")]
    # What comes after is nearer than nothing.
    assert [one.revisions for one in due(["a", "b"], {"b"}, "z", ())] == [("z", "b", "a")]
    assert list(due(["a"], {"a"}, "z", ())) == []


def test_a_step_of_one_sitting_gets_a_second_one_before_all_else() -> None:
    (first, second) = due(["v1", "v2", "v3"], {"v1", "v2"}, "v1", trends(ONCE, "v1", 0.05))
    assert first.revisions == ("v1", "v2")
    assert "only one sitting" in first.why
    assert second.revisions == ("v1", "v2", "v3")
    confirmed = due(["v1", "v2"], {"v1", "v2"}, "v1", trends(CONFIRMED, "v1", 0.05))
    assert list(confirmed) == []


def test_a_confirmed_step_is_said_once() -> None:
    assert unsaid(trends(ONCE, "v1", 0.05), "steady", ()) == []
    known = trends(CONFIRMED, "v1", 0.05)
    ((trend, step),) = unsaid(known, "steady", ())
    said = (trend.series, "steady", step.after)
    assert unsaid(known, "steady", {said}) == []
    assert len(unsaid(known, "cpu", {said})) == 1


def test_a_step_between_variants_is_nobodys_news() -> None:
    costs = {"v1": 1.0, "v1+a==1": 1.0, "v2": 1.0, "v2+a==1": 2.0}
    (once,) = trends(told("1", costs), "v1", 0.05)
    assert once.steps
    assert list(due(["v1", "v2"], {"v1", "v2"}, "v1", [once])) == []
    known = trends(told("1", costs) + told("2", costs), "v1", 0.05)
    assert unsaid(known, "steady", ()) == []


def test_what_lacks_one_of_the_scenarios_is_not_measured() -> None:
    idle, busy, other = (Series.of(name, "single", {"length_s": 2}) for name in ("i", "b", "o"))
    known = [
        TriedRevision(series=idle, engine="e", names=frozenset({"v1", "v2", "v3"})),
        TriedRevision(series=busy, engine="e", names=frozenset({"v1"})),
        TriedRevision(series=busy, engine="e", names=frozenset({"v2"})),
    ]
    assert measured(known, [idle, busy]) == {"v1", "v2"}
    assert measured(known, [idle]) == {"v1", "v2", "v3"}
    assert measured(known, [idle, other]) == set()
    longer = Series.of("i", "single", {"length_s": 20})
    assert measured(known, [longer]) == set()
