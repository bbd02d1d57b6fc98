"""Comparisons and verdicts -> notes: every fact that a reader must know, worded here alone.

The level of a note is its mark, as that of a figure; a view chooses by kind and level which it
shows, and says nothing of its own.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import BELOW_FLOOR, NEAR_FLOOR, MetricResult, Note
from waitbench.analysis.statistics import Comparison, Row
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC, RESTARTED
from waitbench.reporting import forest
from waitbench.reporting.formats import (
    format_change,
    format_count,
    format_range,
    format_rise,
    format_share,
)
from waitbench.reporting.summary import BROKEN, HARMLESS, HOLDS, MARKS, WARNING
from waitbench.system.installation import called

OUTCOME, CHANGE, PRICE = "outcome", "change", "price"
HEADLINES = (OUTCOME, CHANGE, PRICE)
"""What a report begins with: the kinds of what it comes to."""
SAME_BUILD = "same-build"
FAILS, OPEN = "fails", "open"
"""The kinds of what a gate's table says already."""
_UNSURE = "unsure"
"""The kind of what is open for a reason that bounds do not show."""
ENOUGH_ROUNDS = 5
"""Rounds that tell a change from chance, if it is not small."""
COUNTED_DEARLY_S = 10e-6
"""Of CPU a wake-up: between what was raised by a third (2.4 µs) and by a tenth (24 µs).

See docs/trials/counting-cost.txt.
"""
_NEXT_TO_NOTHING_S = 5e-5
"""A difference of lateness below this is not worth a line."""
_LISTED = 4
"""So many ratios are listed; of more it says between which they are."""
_STEAL_WORTH_SAYING = 0.02
_OUTCOMES = {
    GateOutcome.PASS: "✓",
    GateOutcome.FAIL: BROKEN,
    GateOutcome.INCONCLUSIVE: "?",
    GateOutcome.NOT_MEASURED: WARNING,
}
_HOLDS = (Verdict.FASTER, Verdict.WITHIN_MARGIN)
_MAY_BE_MORE = ": it may be more than is allowed"
_ODD = {
    RESTARTED: "processes of it began while it was to wait: keep it from starting programs",
    BY_PROC: f"the kernel did not count: {called('doctor')} tells what would mend it",
}
"""What to do about runs with a mark."""


def _note(
    kind: str,
    text: str,
    level: str = WARNING,
    *,
    revision: str = "",
    scenario: str = "",
    criterion: str = "",
    count: int = 0,
) -> Note:
    return Note(
        kind=kind, level=level, text=text, scenario=scenario, revision=revision,
        criterion=criterion, count=count,
    )  # fmt: skip


def changes(results: Sequence[MetricResult]) -> Iterator[Note]:
    """What is known of each candidate: a line for each verdict, and what waiting less costs."""
    labels = dict.fromkeys(one.revision for one in results if one.judged)
    for label in labels:
        own = [one for one in results if one.revision == label]
        who = f"{label}: " if len(labels) > 1 else ""
        judged = [one for one in own if one.judged]
        kinds = {True: " that wait", False: " that do not wait"}
        is_mixed = len({one.waits for one in judged}) > 1
        for waits, kind in kinds.items():
            # What waits is what this is about; the same word would not fit both.
            group = [one for one in judged if one.waits is waits]
            yield from _changes(group, who, kind if is_mixed else "")
        yield from _prices(own, who)


def _changes(group: Sequence[MetricResult], who: str, kind: str) -> Iterator[Note]:
    what = "CPU in all" if {one.metric.name for one in group} == {"cpu"} else "steady CPU"
    by_text: dict[tuple[str, str], list[MetricResult]] = {}
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.WITHIN_MARGIN)
    for verdict in order:
        of_verdict = [one for one in group if one.verdict is verdict]
        if of_verdict:
            text = _phrase(what, verdict, of_verdict, is_all=len(group) == 1 and not kind)
            by_text[MARKS[verdict], text] = of_verdict
    for one in group:
        if one.ratio is None:
            is_near = one.why_not in (BELOW_FLOOR, NEAR_FLOOR)
            text = f"{what} not compared" if is_near else one.why_not
            by_text.setdefault((forest.mark_of(one), text), []).append(one)
    for (mark, text), found in by_text.items():
        where = _where(found, len(group), kind) if len(group) > 1 or kind else ""
        label = found[0].revision
        yield _note(CHANGE, f"{who}{text}{where}", mark, revision=label, count=len(found))


def _phrase(what: str, verdict: Verdict, found: Sequence[MetricResult], *, is_all: bool) -> str:
    """What the ratios of one verdict come to, and how sure it is where there is no other."""
    ratios = sorted(
        (one.estimate for one in found if one.estimate), key=lambda one: -abs(math.log(one.value))
    )
    said = list(dict.fromkeys(map(format_change, ratios)))
    if len(said) > _LISTED:
        change = f"up to {said[0]}, at least {said[-1]}"
    else:
        *before, last = said
        if all("×" in text for text in said):
            before = [text.rpartition(" ")[0] for text in before]
        change = f"{', '.join(before)} and {last}" if before else last
    interval = format_range(ratios[0])
    if is_all and not interval:
        return f"{what} {change}, one round: no interval"
    how_sure = f" (95 %: {interval})" if is_all else ""
    if verdict is Verdict.WITHIN_MARGIN:
        return f"about the same {what}{how_sure}"
    if verdict is Verdict.INCONCLUSIVE:
        return f"inconclusive: {what}{how_sure}"
    return f"{what} {change}{how_sure}"


def _where(found: Sequence[MetricResult], total: int, kind: str) -> str:
    if len(found) == 1:
        return f" in {found[0].scenario}"
    number = f"all {total}" if len(found) == total else f"{len(found)} of {total}"
    return f" in {number} scenarios{kind}"


def _prices(own: Sequence[MetricResult], who: str) -> Iterator[Note]:
    """What waiting more cheaply costs: how much later items certainly are, and where most."""
    later = [
        one
        for one in own
        if one.metric.name == "latency"
        and one.is_main
        and one.verdict is Verdict.SLOWER
        and _difference(one) >= _NEXT_TO_NOTHING_S
    ]
    if later:
        most = max(later, key=lambda one: one.ratio or 0)
        rise = f"{'up to ' if later[1:] else ''}{forest.change_of(most)} in {most.scenario}"
        values = f"{forest.before_of(most)} → {forest.after_of(most)}"
        text = f"{who}{most.metric.title} {rise}: {values}"
        yield _note(PRICE, text, forest.mark_of(most), revision=most.revision, count=len(later))


def _difference(found: MetricResult) -> float:
    if found.before is None or found.after is None:
        return 0.0
    return found.after.value - found.before.value


def cautions(comparisons: Sequence[Comparison]) -> Iterator[Note]:
    """What to be wary of, each in a line that says what to do."""
    for of in comparisons:
        for row in of.rows:
            if row.measured and not row.runs:
                text = (
                    f"{row.label} was measured in {row.measured} of {of.rounds + of.left_out} "
                    f"rounds of {of.scenario} only, and has no figures there"
                )
                yield _note("no-figures", text, BROKEN, revision=row.label, scenario=of.scenario)
    rounds = sum(one.rounds for one in comparisons)
    disturbed = sum(one.disturbed for one in comparisons)
    if disturbed:
        of_all = format_count(rounds, "round", "rounds")
        mostly = ", ".join(one.scenario for one in comparisons if one.is_disturbed)
        where = f", most of those in {mostly}" if mostly else ""
        text = (
            f"{disturbed} of {of_all} disturbed by other programs{where}: repeat on an idle machine"
        )
        yield _note("disturbed", text, count=disturbed)
    is_compared = any(one.rows[1:] for one in comparisons)
    if is_compared and rounds and all(one.rounds < 2 for one in comparisons):
        text = f"one round cannot tell a change from chance: --rounds {ENOUGH_ROUNDS} can"
        yield _note("one-round", text)
    left_out = sum(one.left_out for one in comparisons)
    if left_out:
        counted = format_count(left_out, "round is", "rounds are")
        text = f"{counted} left out, as not every revision has a measurement there"
        yield _note("left-out-rounds", text, count=left_out)
    by_label: dict[str, list[Row]] = {}
    for row in (row for of in comparisons for row in of.rows):
        by_label.setdefault(row.label, []).append(row)
    for label, rows in by_label.items():
        yield from _oddities(label, rows)
    if not comparisons:
        return
    first = comparisons[0]
    if first.other_packages:
        text = (
            f"other packages differ, too: {'; '.join(first.other_packages)}: a new BENCH_CACHE "
            "installs all anew"
        )
        yield _note("other-packages", text)
    if first.record.context.mixed_origins:
        text = (
            "different compilers built these, and a difference may be theirs: leave out "
            "--origin mixed"
        )
        yield _note("mixed-origins", text)
    yield from _machines(one.record for one in comparisons)


def failures(failed: Iterable[FailedRuns]) -> Iterator[Note]:
    """The runs of a revision that gave no measurement: each last word once."""
    alike: dict[tuple[str, str], list[FailedRuns]] = {}
    for one in failed:
        alike.setdefault((one.label, one.message.rstrip(".")), []).append(one)
    for (label, message), found in alike.items():
        count = sum(one.count for one in found)
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        runs = f"{format_count(count, 'run', 'runs')} of {found[0].scenario}{more}"
        text, place = f"{label}, {runs} failed: {message}", found[0].scenario
        yield _note("failed-runs", text, BROKEN, revision=label, scenario=place, count=count)


def _oddities(label: str, rows: Sequence[Row]) -> Iterator[Note]:
    runs = sum(row.runs for row in rows)
    for mark, advice in _ODD.items():
        count = sum(row.marks.get(mark, 0) for row in rows)
        if count:
            yield _note(
                "odd", f"{label}: in {count} of {runs} runs {advice}", revision=label, count=count
            )
    if any(row.is_window_too_short for row in rows):
        text = f"{label}: window too short: its halves differ in wake-ups. Set a longer window"
        yield _note("short-window", text, revision=label)
    if any(map(_is_counted_dearly, rows)):
        text = (
            f"{label} wakes up for less than {COUNTED_DEARLY_S * 1e6:.0f} µs at a time: being "
            "counted may raise its CPU by a third"
        )
        yield _note("counted-dearly", text, revision=label)
    twin = rows[0].identical_to
    if twin is not None:
        text = f"{label} is the same build as {twin}: what differs is chance"
        yield _note(SAME_BUILD, text, revision=label)


def _is_counted_dearly(row: Row) -> bool:
    if BY_PROC in row.marks or not {"steady", "wakeups"} <= row.estimates.keys():
        return False
    steady_s, wakeups = row.estimates["steady"].value, row.estimates["wakeups"].value
    return 0 < steady_s < COUNTED_DEARLY_S * wakeups


def machine_name(machine: Mapping[str, object]) -> str:
    """What people tell a machine from others by."""
    number = machine.get("cpus")
    cpus = "" if number is None else ", 1 CPU" if number == 1 else f", {number} CPUs"
    kind = machine.get("cpu") or machine.get("architecture") or "unknown processor"
    return f"{kind}{cpus} ({machine.get('fingerprint', 'unknown')})"


def _machines(records: Iterable[Record]) -> Iterator[Note]:
    found: dict[str, list[str]] = {}
    for record in records:
        found.setdefault(machine_name(record.measured_on), []).append(record.scenario)
    if len(found) > 1:
        where = "; ".join(f"{', '.join(names)} on {machine}" for machine, names in found.items())
        text = f"measured on {len(found)} machines, no scenario on two of them: {where}"
        yield _note("machines", text, count=len(found))


def of_verdict(verdict: GateVerdict) -> Iterator[Note]:
    """What a gate says: the outcome, why, and what must not go unsaid besides."""
    text = f"{verdict.outcome.value.upper()}: {_headline(verdict)}"
    yield _note(OUTCOME, text, _OUTCOMES[verdict.outcome], count=len(verdict.judgements))
    yield from failures(verdict.failed_runs)
    for place in verdict.lost:
        text = f"{place}: the baseline supports it, this candidate does not"
        yield _note("lost", text, BROKEN, scenario=place)
    for one in verdict.judgements:
        yield from _of_judgement(one, is_decisive=not verdict.failures)
    if verdict.failures and verdict.open:
        text = (
            f"{len(verdict.open)} of {len(verdict.judgements)} questions have no certain answer: "
            "where a candidate has failed, little more is measured of it"
        )
        yield _note("unfinished", text, "?", count=len(verdict.open))
    needed = {each.accepted for each in verdict.accepted}
    for accepted in verdict.acceptances:
        if accepted.is_over or accepted not in needed:
            begin = f"{'not accepted after' if accepted.is_over else 'accepted until'}"
            unneeded = "" if accepted.is_over else ", and not needed here"
            text = f"{begin} {accepted.until}{unneeded}: {accepted}. {accepted.reason}"
            yield _note("acceptance", text, WARNING)
    holding = [one for one in verdict.judgements if one.verdict in _HOLDS]
    if holding and len(holding) < len(verdict.judgements):
        text = f"{len(holding)} of {len(verdict.judgements)} questions hold"
        yield _note("holds", text, HOLDS, count=len(holding))
    if verdict.steal_share > _STEAL_WORTH_SAYING:
        taken = format_share(verdict.steal_share)
        yield _note("steal", f"a hypervisor took {taken} of the CPU that was asked for")
    for place in verdict.unsupported:
        text = f"{place}: not asked, as the baseline does not support it"
        yield _note("unsupported", text, HARMLESS, scenario=place)
    for text in (one.rstrip(".") for one in verdict.left_out):
        yield _note("left-out", text, HARMLESS)


def _headline(verdict: GateVerdict) -> str:
    questions = format_count(len(verdict.judgements), "question", "questions")
    accepted = format_count(len(verdict.accepted), "regression", "regressions")
    also = f"; {accepted} accepted" if verdict.accepted else ""
    if verdict.outcome is GateOutcome.FAIL:
        first, *others = dict.fromkeys(map(_risen, verdict.failures))
        return f"{first}{f'; {len(others)} more' if others else ''}{also}"
    if verdict.outcome is GateOutcome.PASS:
        return f"{questions}{also or ', no regression'}"
    lacking = [f"{len(verdict.open)} of {questions} open"] if verdict.open else []
    if verdict.not_measured:
        lacking.append(f"{len(verdict.not_measured)} of {questions} not measured")
    if verdict.failed_runs:
        runs = sum(one.count for one in verdict.failed_runs)
        lacking.append(f"{format_count(runs, 'run', 'runs')} failed")
    lacking += [f"{place} is not supported any more" for place in verdict.lost[:1]]
    return f"{'; '.join(lacking) or 'no question could be asked'}{also}"


def _of_judgement(found: Judgement, *, is_decisive: bool) -> Iterator[Note]:
    """What one answer says beside its figures; nothing where all is well.

    Why it is open matters only where nothing failed, and it is what is left.
    """
    kind, text = _sentence(found)
    kind = OPEN if kind == _UNSURE and not is_decisive else kind
    if kind:
        level = {FAILS: BROKEN, "not-measured": BROKEN, OPEN: "?", _UNSURE: "?"}.get(kind, WARNING)
        yield _note(
            kind, text, level, scenario=found.place, revision=found.label,
            criterion=str(found.criterion), count=found.rounds,
        )  # fmt: skip


def _sentence(found: Judgement) -> tuple[str, str]:
    risen = f"{_risen(found)}{_certainly(found)}"
    if found.accepted is not None:
        until, reason = found.accepted.until, found.accepted.reason
        return "accepted", f"accepted until {until}: {risen}, beyond {found.criterion}. {reason}"
    if found.fails:
        return FAILS, f"{risen}, beyond {found.criterion}"
    where = f"{found.label} in {found.place}, {found.criterion}"
    if found.is_unmeasured:
        return "not-measured", f"no answer for {found.label}: {found.why_given_up}"
    if found.is_open:
        why = _why_open(found)
        # One line says of all rounds that they were disturbed.
        kind = _UNSURE if why and not found.is_disturbed else OPEN
        text = f"{where}: inconclusive after {found.rounds} rounds{why or _MAY_BE_MORE}"
        return kind, text
    if found.verdict is Verdict.EXCUSED and found.cost and found.cost_ratio:
        fell = f"{found.cost.title} {format_change(found.cost_ratio)}"
        return "excused", f"{_risen(found)}, but {fell}: no regression"
    return "", ""


def _risen(found: Judgement) -> str:
    what = found.criterion.metric.title
    if found.by_dear_runs:
        what = f"dear runs of {what}"
    elif found.ratio is not None:
        what = f"{what} {format_rise(found.ratio, found.criterion.floor)}"
    return f"{found.label}: {what} in {found.place}"


def _certainly(found: Judgement) -> str:
    if found.by_dear_runs:
        return f" ({_dear(found)}{_means(found)})"
    return (
        ""
        if found.low is None
        else f" (for certain {format_rise(found.low, found.criterion.floor)})"
    )


def _dear(found: Judgement) -> str:
    if found.dear is None:
        return "–"
    return (
        f"{found.dear.candidate} of {found.dear.pairs} runs cost more than twice what is usually "
        f"allowed, and {found.dear.baseline} of the baseline's"
    )


def _means(found: Judgement) -> str:
    if found.ratio is None or found.means is None:
        return ""
    usual, means = (format_rise(one, found.criterion.floor) for one in (found.ratio, found.means))
    return f"; usually {usual}, but {means} by the means"


def _why_open(found: Judgement) -> str:
    """Why more rounds have not told, where its bounds do not say it."""
    if found.is_disturbed:
        return f", in {found.disturbed} of which other programs used the machine: let it rest"
    given_up = f", and given up, as {found.why_given_up}" if found.why_given_up else ""
    if found.ratio is None:
        return given_up
    most = 1 if found.criterion.floor else 1 + found.criterion.margin
    if found.is_mean_beyond and found.ratio < most:
        return f"{given_up}{_means(found)}: some runs cost much more"
    if found.apart is not None and found.ratio < most and len(found.scenarios) > 1:
        return f"{given_up}: {found.scenarios[found.apart]} by itself seems to cost much more"
    if found.high is not None and found.high < most:
        return f"{given_up}, too few to exclude rare dear ones: {_dear(found)}"
    return f"{given_up}{_MAY_BE_MORE}" if given_up else ""
