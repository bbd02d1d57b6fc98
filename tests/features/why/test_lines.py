"""Lines of changes, by threads."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.features.why.reasons import place, python, samples
from waitbench.features.why.lines import Line, lines
from waitbench.features.why.samples import Frame, Samples, Thread
from waitbench.model.metrics import Cost


def cost(wakeups_per_s: float, cores: float = 0.0) -> Cost:
    return Cost(wakeups_per_s=wakeups_per_s, cores=cores)


def names(line: Line) -> list[str]:
    return [frame.name for frame in line.frames]


def main_thread(
    label: str, delayed: float, *wakeups: float, more: tuple[Thread, ...] = ()
) -> Samples:
    """A revision whose main thread parks, at 50 µs of CPU for each wake-up."""
    made = samples(label, place("main", "park", wakeups=1), *more)
    cpu = tuple(wakeup * 5e-5 for wakeup in wakeups)
    main = replace(made.threads[0], wakeups_per_s=wakeups, cpu_share=cpu, delayed=delayed)
    return replace(made, threads=(main, *made.threads[1:]))


NEEDLE = place("needle", thread="t", wakeups=41, cpu=0.001)


RUNS = place("run", wakeups=950, cpu=0.08)
PARKS = [place("main", "park", wakeups=often) for often in (900, 825)]


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        # A new thread, beside one that is large.
        ([RUNS], [place("run", wakeups=970, cpu=0.09), NEEDLE], ["needle"]),
        ([RUNS], [RUNS, place("works", thread="t", cpu=0.05, waits=False)], ["works"]),
        # A place that is new is no change of a thread that wakes up as often.
        (PARKS[:1], [PARKS[1], place("main", "odd", wakeups=75), NEEDLE], ["needle"]),
    ],
)
def test_a_thread_that_is_new_or_gone_comes_before_one_that_hardly_changed(
    before: Sequence[Thread], after: Sequence[Thread], first: list[str]
) -> None:
    for base, other in ((before, after), (after, before)):
        assert names(lines([samples("a", *base), samples("b", *other)])[0]) == first


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
    result = lines([main_thread("a", *before), main_thread("b", *after, more=(NEEDLE,))])
    assert names(result[0]) == ["needle"]


def test_what_a_thread_certainly_does_more_often_comes_before_what_is_new_and_small() -> None:
    small = place("small", thread="t", wakeups=2)
    before = main_thread("a", 0.0, 500, 505, 495, 500)
    result = lines([before, main_thread("b", 0.0, *[900] * 4, more=(small,))])
    assert [names(line) for line in result] == [["main", "park"], ["small"]]


def test_who_works_is_in_one_place_although_looks_differ_in_how_deep_it_is() -> None:
    before = samples("a", *(place("run", name, cpu=0.3, waits=False) for name in "xyz"))
    after = samples(
        "b",
        *(place("run", name, cpu=cpu, waits=False) for name, cpu in (("x", 0.29), ("y", 0.31))),
        place("run", cpu=0.34, waits=False),
    )
    (line,) = lines([before, after])
    assert names(line) == ["run"]


def test_a_spin_is_one_line_at_the_innermost_function_that_has_much_of_it() -> None:
    spread = [
        place("main", "step", it, cpu=0.24, waits=False) for it in ("poll", "push", "pull", "log")
    ]
    elsewhere = place("main", "other", cpu=0.04, waits=False)
    (line,) = (line for line in lines([samples("a", *spread, elsewhere)]) if not line.is_asleep)
    assert names(line) == ["main", "step"]
    assert line.costs[0].cores == pytest.approx(1.0)


def test_cpu_stands_where_a_thread_was_seen_at_work_and_else_where_it_waits() -> None:
    waits = place("main", "park", wakeups=10, cpu=0.5, call="futex")
    (parks,) = lines([samples("a", waits)])
    assert names(parks) == ["main", "park", "futex"]
    assert parks.costs == (cost(10, 0.5),)
    crunches, parks = lines([samples("a", waits, place("main", "crunch", waits=False))])
    assert (names(crunches), crunches.costs) == (
        ["main", "crunch"],
        (cost(0, 0.5),),
    )
    assert parks.costs == (cost(10, 0),)


def test_cpu_of_both_stands_where_only_one_was_seen_at_work() -> None:
    before = samples("a", place("run", wakeups=900, cpu=0.04))
    after = samples("b", place("run", wakeups=900), place("run", "read", cpu=0.04, waits=False))
    for pair in ([before, after], [after, before]):
        waits, works = sorted(lines(pair), key=lambda line: not line.is_asleep)
        assert waits.costs == (cost(900), cost(900))
        assert (names(works), works.costs) == (
            ["run", "read"],
            (cost(0, 0.04), cost(0, 0.04)),
        )


@pytest.mark.parametrize(
    ("stack", "other", "lines_of_both"),
    [
        ([python("wait", line=3)], [python("wait", line=30)], 1),
        # Of a deep stack either end counts.
        ("abcdef", "abxyef", 1),
        (["x", "wait"], ["y", "wait"], 2),
    ],
)
def test_a_place_is_its_functions_whatever_the_line(
    stack: Sequence[str | Frame], other: Sequence[str | Frame], lines_of_both: int
) -> None:
    result = lines([samples("a", place(*stack, wakeups=5)), samples("b", place(*other, wakeups=5))])
    assert len(result) == lines_of_both
    assert place(*other).asleep[0].frames in [line.frames for line in result]


def test_where_no_function_is_known_a_place_is_a_system_call() -> None:
    (line,) = lines([samples(label, place(wakeups=900, call="poll")) for label in "ab"])
    assert names(line) == ["poll"]
    assert line.costs == (cost(900), cost(900))


def test_what_an_event_loop_runs_is_shown_with_less_than_two_thirds_of_the_work() -> None:
    loop = place("run", "once", "select", wakeups=900, call="epoll_wait")
    polls = place("run", "once", "poll_the_table", cpu=0.03, waits=False)
    others = [place("run", "once", name, cpu=0.01, waits=False) for name in ("timers", "select")]
    threads = samples("a", loop, polls, *others)
    for shown in ([threads], [threads, threads]):
        waits, works = sorted(lines(shown), key=lambda line: not line.is_asleep)
        assert names(works) == ["run", "once", "poll_the_table"]
        assert names(waits) == ["run", "once", "select", "epoll_wait"]
