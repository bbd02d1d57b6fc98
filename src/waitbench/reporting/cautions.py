"""Comparisons -> what to be wary of in them, each in a line that says what to do."""

from collections import Counter
from collections.abc import Iterator, Sequence

from waitbench.analysis.statistics import Comparison, Row
from waitbench.model.run import BY_PROC, HARMLESS, RESTARTED, UNANSWERED
from waitbench.reporting.document import Word
from waitbench.reporting.formats import format_count
from waitbench.system.installation import called

ENOUGH_ROUNDS = 5
"""Rounds that tell a change from chance, if it is not small."""
COUNTED_DEARLY_S = 10e-6
"""Of CPU a wake-up: between what was raised by a third (2.4 µs) and by a tenth (24 µs).

See docs/trials/counting-cost.txt.
"""
_ODD = {
    RESTARTED: "processes of it began while it was to wait: keep it from starting programs",
    UNANSWERED: "the poke was not answered, and lateness is not measured: judge the window only",
    BY_PROC: f"the kernel did not count: {called('doctor')} tells what would mend it",
}
"""What to do about runs with a mark."""


def warnings(comparisons: Sequence[Comparison]) -> Iterator[Word]:
    """What to be wary of, each in a line that says what to do."""
    by_label: dict[str, list[tuple[Comparison, Row]]] = {}
    for of in comparisons:
        for row in of.rows:
            by_label.setdefault(row.label, []).append((of, row))
    for label, found in by_label.items():
        yield from _about_failures(label, found)
    rounds = sum(one.rounds for one in comparisons)
    disturbed = sum(one.disturbed for one in comparisons)
    if disturbed:
        of_all = format_count(rounds, "round", "rounds")
        mostly = ", ".join(one.scenario for one in comparisons if one.is_disturbed)
        where = f", most of those in {mostly}" if mostly else ""
        yield _caution(
            f"{disturbed} of {of_all} disturbed by other programs{where}: repeat on an idle machine"
        )
    if len(by_label) > 1 and rounds and all(one.rounds < 2 for one in comparisons):
        yield _caution(f"one round cannot tell a change from chance: --rounds {ENOUGH_ROUNDS} can")
    left_out = sum(one.left_out for one in comparisons)
    if left_out:
        counted = format_count(left_out, "round is", "rounds are")
        yield _caution(f"{counted} left out, as not every revision has a measurement there")
    for label, found in by_label.items():
        yield from _about_oddities(label, [row for _, row in found])
    first = comparisons[0]
    if first.other_packages:
        yield _caution(
            f"other packages differ, too: {'; '.join(first.other_packages)}: pin them, as in "
            "REVISION+NAME==VERSION"
        )
    if first.record.context.mixed_origins:
        yield _caution(
            "different compilers built these, and a difference may be theirs: leave out "
            "--origin mixed"
        )


def _about_failures(label: str, found: Sequence[tuple[Comparison, Row]]) -> Iterator[Word]:
    """The runs of a revision that gave no measurement: each reason once, with its last words."""
    places: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for of, row in found:
        for reason, failed in sorted(row.failures.items()):
            if reason in HARMLESS:
                continue
            message = failed[-1].message.rstrip(".")
            said = f"{reason}: {message}" if message else reason
            places.setdefault(said, []).append(of.scenario)
            counts[said] += len(failed)
    for said, where in places.items():
        runs = format_count(counts[said], "run", "runs")
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        yield Word(text=f"{label}, {runs} of {where[0]}{more}: {said}", style="red")
    for of, row in found:
        if row.measured and not row.runs:
            rounds = of.rounds + of.left_out
            yield Word(
                text=f"{label} was measured in {row.measured} of {rounds} rounds of {of.scenario} "
                "only, and has no figures there",
                style="red",
            )


def _about_oddities(label: str, rows: Sequence[Row]) -> Iterator[Word]:
    runs = sum(row.runs for row in rows)
    for mark, advice in _ODD.items():
        count = sum(row.marks.get(mark, 0) for row in rows)
        if count:
            yield _caution(f"{label}: in {count} of {runs} runs {advice}")
    for row in rows:
        if row.is_window_too_short:
            yield _caution(
                f"{label}: window too short: its halves differ in wake-ups. Set a longer window"
            )
    if any(map(_is_counted_dearly, rows)):
        yield _caution(
            f"{label} wakes up for less than {COUNTED_DEARLY_S * 1e6:.0f} µs at a time: being "
            "counted may raise its CPU by a third"
        )
    twin = rows[0].identical_to
    if twin is not None:
        yield _caution(f"{label} is the same build as {twin}: what differs is chance")


def _is_counted_dearly(row: Row) -> bool:
    if BY_PROC in row.marks or not {"steady", "wakeups"} <= row.estimates.keys():
        return False
    steady_s, wakeups = row.estimates["steady"].value, row.estimates["wakeups"].value
    return 0 < steady_s < COUNTED_DEARLY_S * wakeups


def _caution(text: str) -> Word:
    return Word(text=text, style="yellow")
