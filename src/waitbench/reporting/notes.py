"""Comparisons and verdicts -> notes: every fact that a reader must know, worded here alone.

The level of a note is its mark, as that of a figure; a view chooses by kind and level which it
shows, and says nothing of its own.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from waitbench.analysis import results
from waitbench.analysis.gate import LOST, UNSUPPORTED, FailedRuns, GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import Note
from waitbench.analysis.statistics import NEAR_FLOOR, Comparison, MetricResult
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC, ENDED, RESTARTED
from waitbench.model.verdicts import GateOutcome, Verdict
from waitbench.reporting import forest
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_range,
    format_share,
)
from waitbench.reporting.summary import BROKEN, HARMLESS, HOLDS, MARKS, WARNING
from waitbench.system.installation import called

OUTCOME, CHANGE, PRICE = "outcome", "change", "price"
HEADLINES = (OUTCOME, CHANGE, PRICE)
"""What a report begins with: the kinds of what it comes to."""
SAME_BUILD = "same-build"
DISTURBED = "disturbed"
ENOUGH_ROUNDS = 5
"""Rounds that tell a change from chance, if it is not small."""
COUNTED_DEARLY_S = 10e-6
"""Of CPU a wake-up: between what was raised by a third (2.4 µs) and by a tenth (24 µs).

See docs/trials/counting-cost.txt.
"""
_NEXT_TO_NOTHING_S = 5e-5
"""A difference of lateness below this is not worth a line."""
_NAMED = 3
"""So many candidates have lines of their own."""
_OUTCOMES = {
    GateOutcome.PASS: "✓",
    GateOutcome.FAIL: BROKEN,
    GateOutcome.INCONCLUSIVE: "?",
    GateOutcome.NOT_MEASURED: WARNING,
}
_WORDS = {Verdict.WITHIN_MARGIN: "unchanged", Verdict.INCONCLUSIVE: "inconclusive"}
"""As docs/reading.md has them, in which ratios are no news."""
_HOLDS = (Verdict.FASTER, Verdict.WITHIN_MARGIN)
_NOT_ASKED = {
    LOST: "the baseline supports it, this candidate does not",
    UNSUPPORTED: "not asked, as the baseline does not support it",
    ENDED: "not asked, as it ends there and may do so",
}
_ODD = {
    RESTARTED: "it started processes while it should wait: keep it from doing that",
    BY_PROC: f"the kernel did not count: {called('doctor')} says how to fix it",
}
"""What to do about runs with a mark."""


def _note(kind: str, text: str, level: str = WARNING, **about: Any) -> Note:
    return Note(kind=kind, level=level, text=text, **about)


def changes(found: Sequence[MetricResult]) -> Iterator[Note]:
    """What is known of each candidate: a line for each verdict, and what waiting less costs.

    Of many, the table says it.
    """
    labels = dict.fromkeys(one.revision for one in found if one.judged)
    if len(labels) > _NAMED:
        return
    for label in labels:
        own = [one for one in found if one.revision == label]
        who = f"{label}: " if len(labels) > 1 else ""
        yield from _changes([one for one in own if one.judged], who)
        yield from _prices(own, who)


def _changes(group: Sequence[MetricResult], who: str) -> Iterator[Note]:
    what = "total CPU" if {one.metric.name for one in group} == {"cpu"} else "idle CPU"
    is_all = len(group) == 1
    found: dict[tuple[str, str], list[MetricResult]] = {}
    for verdict in MARKS:
        of_verdict = [one for one in group if one.verdict is verdict]
        if of_verdict:
            text = _phrase(what, verdict, of_verdict, is_all=is_all)
            found[MARKS[verdict], text] = of_verdict
    for one in (one for one in group if one.ratio is None):
        is_near = one.why_not == NEAR_FLOOR
        text = f"{what} not compared" if is_near else one.why_not
        found.setdefault((forest.mark_of(one), text), []).append(one)
    for (mark, text), own in found.items():
        number = f"all {len(group)}" if len(own) == len(group) else f"{len(own)} of {len(group)}"
        where = f" in {number} scenarios" if own[1:] else f" in {own[0].scenario}"
        said = f"{who}{text}{'' if is_all else where}"
        yield _note(CHANGE, said, mark, revision=own[0].revision, count=len(own))


def _phrase(what: str, verdict: Verdict, found: Sequence[MetricResult], *, is_all: bool) -> str:
    """What the ratios of one verdict come to, and how sure it is where there is no other."""
    ratios = sorted(
        (one.ratio for one in found if one.ratio), key=lambda one: -abs(math.log(one.value))
    )
    change = " to ".join(dict.fromkeys(map(format_change, (ratios[0], ratios[-1]))))
    interval = format_range(ratios[0])
    if is_all and not interval:
        return f"{what} {change}, {forest.TOO_FEW} for an interval"
    how_sure = f" (95 %: {interval})" if is_all else ""
    if verdict in _WORDS:
        return f"{_WORDS[verdict]}: {what}{how_sure}"
    return f"{what} {change}{how_sure}"


def _prices(own: Sequence[MetricResult], who: str) -> Iterator[Note]:
    """What waiting more cheaply costs: how much later items certainly are, and where most."""
    later = [
        one
        for one in own
        if one.metric.name == "latency"
        and one.is_main
        and one.verdict is Verdict.SLOWER
        and one.before is not None
        and one.after is not None
        and one.after.value - one.before.value >= _NEXT_TO_NOTHING_S
    ]
    if later:
        most = max(later, key=lambda one: one.ratio.value if one.ratio else 0)
        rise = f"{'up to ' if later[1:] else ''}{forest.change_of(most)} in {most.scenario}"
        values = f"{forest.before_of(most)} → {forest.after_of(most)}"
        text = f"{who}{most.metric.title} {rise}: {values}"
        yield _note(PRICE, text, forest.mark_of(most), revision=most.revision, count=len(later))


def cautions(comparisons: Sequence[Comparison]) -> Iterator[Note]:
    """What to be wary of, each in a line that says what to do."""
    labels = dict.fromkeys(label for one in comparisons for label in one.figures)
    rounds = sum(one.rounds for one in comparisons)
    disturbed = sum(len(one.record.disturbed_rounds) for one in comparisons)
    if disturbed:
        of_all = format_count(rounds, "round", "rounds")
        text = f"{disturbed} of {of_all} disturbed by other programs"
        yield _note(DISTURBED, f"{text}: repeat on an idle machine", count=disturbed)
    if len(labels) > 1 and rounds and all(one.rounds < 2 for one in comparisons):
        text = f"one round cannot tell a change from chance: --rounds {ENOUGH_ROUNDS} can"
        yield _note("one-round", text)
    for label in labels:
        yield from _oddities(label, comparisons)
    for context in (one.record.context for one in comparisons[:1]):
        if others := context.other_packages:
            text = f"other packages differ, too: {'; '.join(others)}"
            yield _note("other-packages", f"{text}: a new BENCH_CACHE installs all again")
        if context.mixed_origins:
            text = "different compilers built these, and may explain a difference"
            yield _note("mixed-origins", f"{text}: leave out --origin mixed")
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


def _oddities(label: str, comparisons: Sequence[Comparison]) -> Iterator[Note]:
    runs = [run for one in comparisons for run in one.record.of(label)]
    counts = {mark: sum(mark in run.marks for run in runs) for mark in _ODD}
    said = [
        ("odd", f": in {n} of {len(runs)} runs {_ODD[mark]}", n) for mark, n in counts.items() if n
    ]
    if any(_is_counted_dearly(one, label) for one in comparisons):
        text = (
            f" wakes up for less than {COUNTED_DEARLY_S * 1e6:.0f} µs at a time: being counted may "
            "raise its CPU by a third"
        )
        said.append(("counted-dearly", text, 0))
    twin = comparisons[0].record.context.identical_to(label)
    if twin is not None:
        said.append((SAME_BUILD, f" is the same build as {twin}: any difference is chance", 0))
    for kind, text, count in said:
        yield _note(kind, f"{label}{text}", revision=label, count=count)


def _is_counted_dearly(of: Comparison, label: str) -> bool:
    means, runs = of.means(label), of.record.of(label)
    if any(BY_PROC in run.marks for run in runs) or not {"idle", "wakeups"} <= means.keys():
        return False
    idle_s, wakeups = means["idle"].value, means["wakeups"].value
    return 0 < idle_s < COUNTED_DEARLY_S * wakeups


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
    asked = results.of_verdict(verdict)
    total = len(asked)
    text = f"{verdict.outcome.value.upper()}: {_headline(verdict, asked)}"
    yield _note(OUTCOME, text, _OUTCOMES[verdict.outcome], count=total)
    yield from failures(verdict.failed_runs)
    for found, shown in zip(verdict.judgements, asked, strict=True):
        kind, level, text = _beside(found, shown, is_decisive=not verdict.failures)
        if kind:
            yield _note(
                kind, text, level, scenario=found.place, revision=found.label,
                criterion=str(found.criterion), count=found.rounds,
            )  # fmt: skip
    if verdict.failures and (left := verdict.of(Verdict.INCONCLUSIVE)):
        text = (
            f"{len(left)} of {total} questions have no certain answer: little more is measured of "
            "a candidate that has failed"
        )
        yield _note("unfinished", text, "?", count=len(left))
    holding = sum(one.verdict in _HOLDS for one in asked)
    if 0 < holding < total:
        yield _note("holds", f"{holding} of {total} questions hold", HOLDS, count=holding)
    for place, why in verdict.not_asked:
        level = BROKEN if why == LOST else HARMLESS
        yield _note(why, f"{place}: {_NOT_ASKED[why]}", level, scenario=place)
    for text in verdict.left_out:
        yield _note("left-out", text.rstrip("."), HARMLESS)


def _headline(verdict: GateVerdict, asked: Sequence[MetricResult]) -> str:
    questions = format_count(len(asked), "question", "questions")
    accepted = format_count(len(verdict.accepted), "regression", "regressions")
    also = f"; {accepted} accepted" if verdict.accepted else ""
    if verdict.outcome is GateOutcome.FAIL:
        first, *others = dict.fromkeys(_risen(one) for one in asked if one.fails)
        return f"{first}{f'; {len(others)} more' if others else ''}{also}"
    if verdict.outcome is GateOutcome.PASS:
        if all(one.limit for one in asked):
            return format_count(len(asked), "limit holds", "limits hold")
        return f"{questions}{also or ', no regression'}"
    runs = sum(one.count for one in verdict.failed_runs)
    left, lacking = verdict.of(Verdict.INCONCLUSIVE), verdict.of(Verdict.NOT_MEASURED)
    lost = [place for place, why in verdict.not_asked if why == LOST]
    reasons = [
        f"{len(left)} of {questions} open" if left else "",
        f"{len(lacking)} of {questions} not measured" if lacking else "",
        f"{format_count(runs, 'run', 'runs')} failed" if runs else "",
        *(f"{place} is not supported any more" for place in lost[:1]),
    ]
    return f"{'; '.join(filter(None, reasons)) or 'no question could be asked'}{also}"


def _risen(found: MetricResult, bounds: str = "") -> str:
    change = "" if found.ratio is None else f" {forest.change_of(found)}"
    return f"{found.revision}: {forest.cost_of(found)}{change}{bounds} in {found.scenario}"


def sentence(found: MetricResult) -> str:
    """An answer of a gate in a line, for what has no tables."""
    certain = forest.interval_of(found).strip(NOTHING)
    is_open = ": inconclusive" if found.verdict is Verdict.INCONCLUSIVE else ""
    risen = _risen(found, f" ({certain})" if certain else "")
    return f"{risen}, allowed {forest.allowed_of(found)}{is_open}"


def _beside(found: Judgement, shown: MetricResult, *, is_decisive: bool) -> tuple[str, str, str]:
    """Kind, level and text of what is said beside an answer's figures; empty for most."""
    if found.accepted is not None:
        until, reason = found.accepted.until, found.accepted.reason
        return "accepted", WARNING, f"accepted until {until}: {sentence(shown)}. {reason}"
    if found.verdict is Verdict.NOT_MEASURED:
        return "not-measured", BROKEN, f"no answer for {found.label}: {found.why_given_up}"
    cost = found.criterion.cost
    if found.verdict is Verdict.EXPLAINED and cost and found.cost_ratio:
        fell = f"{cost.title} {format_change(found.cost_ratio)}"
        return "explained", WARNING, f"{_risen(shown)}, but {fell}: no regression"
    # Why it is open matters only where nothing failed.
    is_open = found.verdict is Verdict.INCONCLUSIVE
    why = _why_open(found) if is_open and is_decisive else ""
    return ("open", "?", f"{sentence(shown)}: {why}") if why else ("", "", "")


def _why_open(found: Judgement) -> str:
    """Why more rounds have not told, where its bounds do not say it.

    One line says of all rounds that they were disturbed.
    """
    # Shares of a limit are said as those of what a floor allows.
    floor = 1.0 if found.criterion.limit else found.criterion.floor
    reasons = [found.why_given_up or ""]
    most = 1 if floor else 1 + found.criterion.margin
    ratio = found.ratio
    is_within = ratio is not None and ratio.value < most
    if found.is_disturbed:
        return ""
    if is_within and found.means is not None:
        means = format_share(found.means) if floor else format_change(found.means)
        allowed = " of allowed" if floor else ""
        reasons.append(f"{means}{allowed} between the means, as some runs cost much more")
    elif is_within and found.apart and len(found.scenarios) > 1:
        reasons.append(f"{found.scenarios[found.apart[0]]} by itself seems to cost much more")
    elif ratio and ratio.high is not None and ratio.high < most and found.dear is not None:
        dear, pairs = found.dear.candidate, found.dear.pairs
        reasons.append(
            f"{dear} of {pairs} runs cost more than twice what is usually allowed"
            if dear
            else f"{pairs} runs are too few to rule out rare ones that cost more"
        )
    return "; ".join(filter(None, reasons))
