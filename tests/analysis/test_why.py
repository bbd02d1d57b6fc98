"""Lines of what changed, and trees of stacks."""

import pytest
from msgspec.structs import replace

from tests.reasons import place, python, why
from waitbench.analysis.why import Cost, Line, lines
from waitbench.model.why import PYTHON, Counted, Frame, Place, Why


def names(line: Line) -> list[str]:
    return [frame.name for frame in line.frames]


def first(before: object, after: object) -> Line:
    return lines([before, after])[0]  # type: ignore[list-item]


def test_what_changed_comes_before_what_is_large() -> None:
    before = why("a", place("run", wakeups=950, cpu=0.08))
    needle = place("loop", "needle", thread="Thread-1", wakeups=100, cpu=0.004)
    after = why("b", place("run", wakeups=970, cpu=0.09), needle)
    line = first(before, after)
    assert names(line) == ["loop", "needle"]
    assert line.costs == (Cost(), Cost(100, 0.004))
    # The other way round it is gone.
    assert first(after, before).costs == (Cost(100, 0.004), Cost())


def counted(*wakeups: float, delayed: float = 0.0, thread: str = "MainThread") -> Counted:
    """What a thread did in parts of the time, at 50 µs of CPU for each wake-up."""
    return Counted(
        process="worker",
        thread=thread,
        wakeups_per_s=wakeups,
        cpu_share=tuple(one * 5e-5 for one in wakeups),
        delayed=delayed,
    )


def main_thread(label: str, delayed: float, *wakeups: float, more: tuple[Place, ...] = ()) -> Why:
    """A revision whose main thread parks, and did so as often in each part of the time."""
    mean = sum(wakeups) / len(wakeups)
    made = why(label, place("main", "park", wakeups=mean, cpu=mean * 5e-5), *more)
    return replace(made, threads=(counted(*wakeups, delayed=delayed),))


NEEDLE = place("needle", thread="t", wakeups=41, cpu=0.001)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # As seen on two cores that others wanted, too: a thread that only waits for a CPU.
        ((0.05, 888, 869, 882, 710), (0.39, 751, 802, 378, 198)),
        ((0.51, 628, 526, 257, 391), (0.62, 709, 472, 0, 166)),
        ((0.25, 651, 726, 692, 603), (0.12, 750, 795, 847, 707)),
    ],
)
def test_what_is_new_comes_before_what_others_use_of_the_machine_may_have_changed(
    before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    one, other = main_thread("a", *before), main_thread("b", *after, more=(NEEDLE,))
    line, park = lines([one, other])
    assert names(line) == ["needle"]
    assert park.change == 0
    # Whoever is the baseline.
    gone, _ = lines([main_thread("a", *before, more=(NEEDLE,)), main_thread("b", *after)])
    assert names(gone) == ["needle"]


def test_what_a_thread_certainly_does_more_often_comes_before_what_is_new_and_small() -> None:
    one, other = main_thread("a", 0.0, 500, 505, 495, 500), main_thread("b", 0.0, *[900] * 4)
    small = replace(other, places=(*other.places, place("small", thread="t", wakeups=2)))
    line, new = lines([one, small])
    assert names(line) == ["main", "park"]
    assert 0 < line.change < 0.02
    assert new.change == pytest.approx(1e-4)


def test_a_place_that_one_look_of_twelve_has_seen_is_not_certainly_new() -> None:
    before = why("a", place("main", "park", wakeups=900))
    after = why(
        "b", place("main", "park", wakeups=825, looks=11), place("main", "odd", wakeups=75, looks=1)
    )
    found = lines([before, replace(after, places=(*after.places, NEEDLE))])
    assert names(found[0]) == ["needle"]
    odd = next(line for line in found if names(line) == ["main", "odd"])
    assert odd.change == 0


def test_who_works_is_in_one_place_although_looks_differ_in_how_deep_it_is() -> None:
    before = why("a", *(place("run", one, cpu=0.3, waits=False, looks=4) for one in "xyz"))
    after = why(
        "b",
        place("run", "x", cpu=0.7, waits=False, looks=9),
        place("run", "y", cpu=0.2, waits=False, looks=3),
    )
    (line,) = lines([before, after])
    assert names(line) == ["run"]
    assert line.change == 0


def test_a_thread_that_works_is_found_beside_one_that_wakes_up_often() -> None:
    before = why("a", place("run", wakeups=950, cpu=0.08))
    after = why(
        "b",
        place("run", wakeups=990, cpu=0.085),
        place("needle", thread="t", wakeups=10),
        place("needle", thread="t", cpu=0.05, waits=False),
    )
    line = first(before, after)
    assert (names(line), line.waits) == (["needle"], False)


def test_a_spin_is_one_line_at_the_innermost_function_that_has_nearly_all_of_it() -> None:
    spread = [
        place("main", "step", one, cpu=0.24, waits=False) for one in ("poll", "push", "pull", "log")
    ]
    elsewhere = place("main", "other", cpu=0.04, waits=False)
    (line,) = lines([why("a", *spread, elsewhere)])
    assert names(line) == ["main", "step"]
    assert line.costs[0].cpu_share == pytest.approx(1.0)


def test_who_only_looks_whether_there_is_anything_to_do_has_one_line() -> None:
    waits = place("main", "park", wakeups=900, call="futex")
    works = place("main", cpu=0.07, waits=False)
    (line,) = lines([why("a", waits, works)])
    assert (names(line), line.calls) == (["main", "park"], ("futex",))
    assert line.costs == (Cost(900, 0.07),)


def test_who_works_for_long_between_two_waits_has_a_line_for_the_work() -> None:
    waits = place("main", "park", wakeups=10)
    works = place("main", "crunch", cpu=0.5, waits=False)
    crunches, parks = lines([why("a", waits, works)])
    assert (names(crunches), crunches.costs) == (["main", "crunch"], (Cost(0, 0.5),))
    assert (names(parks), parks.costs) == (["main", "park"], (Cost(10, 0),))


def test_a_line_number_or_the_number_of_a_thread_makes_no_new_place() -> None:
    before = why("a", place(python("wait", line=3), thread="Thread-1 (it)", wakeups=5))
    after = why("b", place(python("wait", line=30), thread="Thread-7 (it)", wakeups=5))
    (line,) = lines([before, after])
    assert line.thread == "Thread-7 (it)"
    assert line.frames[0].line == 30
    assert line.change == 0


RUN = Frame("<module>", PYTHON, "bytewax/run.py", 431)
MOVED = Frame("<module>", PYTHON, "bytewax/run.py", 355)
PARKS = Frame("timely::Worker::step_or_park")


def test_a_place_whose_callers_have_other_names_is_the_same() -> None:
    old, new = Frame("_::__pyfunction_cli_main"), Frame("_PYO3_DEF::trampoline")
    before = why("a", place(RUN, old, Frame("Worker::run_dataflow"), PARKS, wakeups=898))
    after = why("b", place(MOVED, new, Frame("Worker::run"), PARKS, wakeups=861))
    (line,) = lines([before, after])
    assert line.costs == (Cost(898), Cost(861))
    assert (line.change, line.frames[0].line) == (0, 355)


def test_two_places_with_one_innermost_function_stay_two() -> None:
    both = [place(one, "wait", wakeups=9) for one in ("x", "y")]
    assert len(lines([why("a", *both), why("b", *both)])) == 2


@pytest.mark.parametrize("stack", [("main", "poll"), ()])
def test_a_program_that_is_called_otherwise_is_the_same(stack: tuple[str, ...]) -> None:
    def named(number: str) -> Why:
        waits = place(*stack, thread=f"worker-1.{number}", wakeups=900, call="poll")
        return replace(
            why(number, waits), threads=(counted(*[900] * 4, thread=f"worker-1.{number}"),)
        )

    (line,) = lines([named("2"), named("3")])
    assert (line.thread, line.change) == ("worker-1.3", 0)


def test_a_child_that_is_called_otherwise_is_the_same() -> None:
    one, other = (
        why(name, place("main", "poll", process=f"child {name}", thread=name, wakeups=900))
        for name in ("old", "new")
    )
    (line,) = lines([one, other])
    assert line.costs == (Cost(900), Cost(900))


def test_a_thread_in_another_function_is_another_one() -> None:
    before = why("a", place("run", thread="x", wakeups=9))
    after = why("b", place("loop", "needle", thread="y", wakeups=9))
    assert len(lines([before, after])) == 2


def test_what_an_event_loop_runs_is_shown_with_less_than_two_thirds_of_the_work() -> None:
    loop = place("run", "once", "select", wakeups=900, call="epoll_wait")
    polls = place("run", "once", "poll_the_table", cpu=0.03, waits=False, looks=6)
    others = [
        place("run", "once", one, cpu=0.01, waits=False, looks=2) for one in ("timers", "select")
    ]
    one = why("a", loop, polls, *others)
    for shown in ([one], [one, one]):
        waits, works = sorted(lines(shown), key=lambda line: not line.waits)
        assert names(works) == ["run", "once", "poll_the_table"]
        assert names(waits) == ["run", "once", "select"]


def test_a_line_of_work_is_the_same_where_one_revision_was_seen_in_the_event_loop_only() -> None:
    loop = place("run", "once", "select", wakeups=900, call="epoll_wait")
    before = why("a", loop, place("run", "once", cpu=0.05, waits=False))
    after = why("b", loop, place("run", "once", "poll_the_table", cpu=0.05, waits=False))
    assert all(line.change == 0 for line in lines([before, after]))


def test_that_only_one_revision_was_seen_at_work_is_no_change() -> None:
    before = why("a", place("run", wakeups=900, cpu=0.04))
    after = why("b", place("run", wakeups=900), place("run", "read", cpu=0.04, waits=False))
    for pair in ([before, after], [after, before]):
        assert [line.change for line in lines(pair)] == [0, 0]


def test_what_only_begins_others_is_no_place() -> None:
    stack = [
        python("_run_code", "<frozen runpy>"), python("_bootstrap", "lib/threading.py"),
        Frame("std::sys::backtrace::__rust_begin_short_backtrace"), python("own"),
        Frame("timely::worker::Worker::step_or_park"), Frame("std::thread::park_timeout"),
    ]  # fmt: skip
    (line,) = lines([why("a", place(*stack, wakeups=1))])
    assert names(line) == ["own", "timely::worker::Worker::step_or_park"]
