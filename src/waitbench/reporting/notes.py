"""Comparisons and verdicts -> notes: every fact that a reader must know, worded here alone.

The level of a note is its mark, as that of a figure; a view chooses by kind and level which it
shows, and says nothing of its own.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from waitbench.analysis import results
from waitbench.analysis.censoring import NOT_WITHIN
from waitbench.analysis.gate import LOST, UNSUPPORTED, FailedRuns, GateVerdict, incomplete_runs
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import Note
from waitbench.analysis.statistics import BELOW_RESOLUTION, SIDE_EFFECTS, Comparison, MetricResult
from waitbench.model.estimate import Estimate
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC, ENDED, INCOMPLETE, RESTARTED, SENT_AT_END
from waitbench.model.verdicts import GateOutcome, Verdict
from waitbench.reporting import forest
from waitbench.reporting.formats import (
    NOTHING,
    format_bound,
    format_change,
    format_count,
    format_limit,
    format_share,
)
from waitbench.reporting.summary import BROKEN, HARMLESS, HOLDS, MARKS, WARNING
from waitbench.system.installation import called

OUTCOME, CHANGE, WORSE, OPEN = "outcome", "change", "worse", "open"
HEADLINES = (OUTCOME, CHANGE, WORSE)
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
_NAMED = 2
"""So many candidates have a line for each cost; of more, each has one for all."""
_OF_WAITING = ("latency", "latency-p50", "wakeups", "syscalls")
_OUTCOMES = {
    GateOutcome.PASS: "✓",
    GateOutcome.FAIL: BROKEN,
    GateOutcome.INCONCLUSIVE: "?",
    GateOutcome.NOT_MEASURED: WARNING,
}
_HOLDS = (Verdict.FASTER, Verdict.WITHIN_MARGIN)
_NOT_ASKED = {
    LOST: "the baseline supports it, this candidate does not",
    UNSUPPORTED: "not asked, as the baseline does not support it",
    ENDED: "not asked, as it ends there and may do so",
}
_ODD = {
    RESTARTED: "it started processes while it should wait: keep it from doing that",
    BY_PROC: f"the kernel did not count: {called('doctor')} says how to fix it",
    SENT_AT_END: "lateness counts from the poke's start, as `sent` and its end came together",
}
"""What to do about runs with a mark."""


def _note(kind: str, text: str, level: str = WARNING, **about: Any) -> Note:
    return Note(kind=kind, level=level, text=text, **about)


def changes(results: Sequence[MetricResult]) -> Iterator[Note]:
    """What became of total CPU, real time and system time of each candidate, and what got worse."""
    labels = [*dict.fromkeys(it.revision for it in results if it.judged)]
    is_brief = len(labels) > _NAMED
    for label in labels:
        of_label = [it for it in results if it.revision == label]
        prefix = f"{label}: " if labels[1:] else ""
        lines = [*_changes(of_label, is_brief=is_brief), *([] if is_brief else _worse(of_label))]
        if is_brief and lines:
            text = "; ".join(text for *_, text, _ in lines[:2])
            lines = [(CHANGE, lines[0][1], text, len(of_label))]
        for kind, mark, text, count in lines:
            yield _note(kind, f"{prefix}{text}", mark, revision=label, count=count)


_Line = tuple[str, str, str, int]
"""Kind, mark, text, and the number of scenarios."""


def _changes(results: Sequence[MetricResult], *, is_brief: bool) -> Iterator[_Line]:
    """A line for each cost that comes first: of dataflows, the user time is in the total."""
    names: tuple[str, ...] = ("cpu", "real", "system")
    if not any(it.headline and it.metric.name == "cpu" for it in results):
        names = tuple(it.metric.name for it in results if it.judged)[:1]
    is_less = {it.scenario for it in results if it.judged and it.verdict is Verdict.FASTER}
    for name in names:
        group = [it for it in results if it.metric.name == name]
        if not group:
            continue
        grown = [it for it in group if it.verdict is Verdict.SLOWER]
        text = _change(group, is_brief=is_brief)
        if name == "system" and grown and is_less.issuperset(it.scenario for it in grown):
            text += ", while total CPU fell there"
        yield CHANGE, _mark(group), f"{group[0].metric.title} {text}", len(group)


def _mark(group: Sequence[MetricResult]) -> str:
    """What a line about several scenarios says first: a rise before a fall."""
    verdicts = {it.verdict for it in group}
    known = next((it for it in MARKS if it in verdicts), None)
    return MARKS[known] if known else forest.mark_of(group[0])


def _change(group: Sequence[MetricResult], *, is_brief: bool) -> str:
    """What became of one cost: where it rose or fell, most of all, and where nothing changed."""
    if len(group) == 1:
        return _single(group[0])
    parts: list[str] = []
    for verdict, word in ((Verdict.SLOWER, "more"), (Verdict.FASTER, "less")):
        if certain := [it for it in group if it.verdict is verdict]:
            most = max(certain, key=lambda it: abs(math.log(it.ratio.value)) if it.ratio else 0)
            values = f"{forest.before_of(most)} → {forest.after_of(most)}"
            change = forest.change_of(most).strip(NOTHING)
            if is_brief:
                parts.append(
                    f"{word} {_in(certain, group)} ({change or values} in {most.scenario})"
                )
                continue
            where = f"{_in(certain, group)}, most in" if certain[1:] else "in"
            figures = f"{values}, {change}" if change else values
            parts.append(f"{word} {where} {most.scenario} ({figures})")
    if same := [it for it in group if it.verdict is Verdict.WITHIN_MARGIN]:
        bound = format_bound(it.ratio for it in same if it.ratio)
        parts.append(f"within {bound} {_in(same, group)}")
    if unsure := [it for it in group if it.verdict is Verdict.INCONCLUSIVE]:
        widest = max(unsure, key=lambda it: _width(it.ratio))
        known = forest.interval_of(widest)
        where = "" if is_brief else f" ({known} in {widest.scenario})"
        parts.append(f"unclear {_in(unsure, group)}{where}")
    reasons: dict[str, list[MetricResult]] = {}
    for it in (it for it in group if it.verdict is None):
        reasons.setdefault(it.why_not, []).append(it)
    parts += [f"{_reason(own[0])} {_in(own, group)}" for own in reasons.values()]
    return "; ".join(parts)


def _single(result: MetricResult) -> str:
    """A change in the only scenario."""
    values = f"{forest.before_of(result)} → {forest.after_of(result)}"
    if result.verdict is None:
        return values if result.why_not == BELOW_RESOLUTION else result.why_not
    if result.ratio and result.ratio.low is None:
        return f"{values}, {forest.change_of(result)}: {forest.TOO_FEW} for an interval"
    change, interval = forest.change_of(result), forest.interval_of(result)
    if not forest.has_ratio(result):
        return values
    if result.verdict is Verdict.WITHIN_MARGIN and result.ratio:
        return f"{values}, within {format_bound([result.ratio])}"
    unclear = "unclear: " if result.verdict is Verdict.INCONCLUSIVE else ""
    return f"{unclear}{values}, {change} ({interval})"


def _in(group: Sequence[MetricResult], of_all: Sequence[MetricResult]) -> str:
    return f"in all {len(of_all)}" if len(group) == len(of_all) else f"in {len(group)}"


def _width(ratio: Estimate | None) -> float:
    return ratio.high / ratio.low if ratio and ratio.low and ratio.high else math.inf


def _reason(result: MetricResult) -> str:
    if result.why_not != BELOW_RESOLUTION:
        return result.why_not
    return f"below {format_limit(result.metric.resolution, result.metric)}"


def _worse(results: Sequence[MetricResult]) -> Iterator[_Line]:
    """What else certainly rose, each cost where it did so most."""
    others = [
        it
        for it in results
        if it.metric.name in SIDE_EFFECTS and not it.judged
        and (it.waits or it.metric.name not in _OF_WAITING)
    ]  # fmt: skip
    rises: dict[str, list[MetricResult]] = {}
    for it in others:
        is_much = it.before and it.after and it.after.value - it.before.value >= _NEXT_TO_NOTHING_S
        if it.verdict is Verdict.SLOWER and is_much:
            rises.setdefault(it.metric.title, []).append(it)
    texts = []
    for title, risen in rises.items():
        most = max(risen, key=lambda it: it.ratio.value if it.ratio else 0)
        more = f" and {len(risen) - 1} more" if risen[1:] else ""
        values = f"{forest.before_of(most)} → {forest.after_of(most)}"
        texts.append(f"{title} {values} in {most.scenario}{more}")
    if texts:
        yield WORSE, MARKS[Verdict.SLOWER], f"worse: {'; '.join(texts)}", len(texts)
    elif others and not any(NOT_WITHIN in it.why_not for it in others):
        titles = dict.fromkeys(it.metric.title for it in others if it.verdict is not None)
        yield WORSE, MARKS[Verdict.WITHIN_MARGIN], f"nothing else got worse: {', '.join(titles)}", 0


def cautions(
    comparisons: Sequence[Comparison], different: Collection[str], *, is_gate: bool = False
) -> Iterator[Note]:
    """What to be wary of, each in a line that says what to do.

    Some candidates are certainly ``different`` from the baseline.
    """
    labels = dict.fromkeys(label for one in comparisons for label in one.figures)
    rounds = sum(one.rounds for one in comparisons)
    disturbed = sum(len(one.record.disturbed_rounds) for one in comparisons)
    if disturbed:
        of_all = format_count(rounds, "round", "rounds")
        text = f"{disturbed} of {of_all} disturbed by other programs"
        yield _note(DISTURBED, f"{text}: repeat on an idle machine", count=disturbed)
    # A gate makes as many as it needs.
    is_asked = len(labels) > 1 and not is_gate
    if is_asked and rounds and all(one.rounds < 2 for one in comparisons):
        text = f"one round cannot tell a change from chance: --rounds {ENOUGH_ROUNDS} can"
        yield _note("one-round", text)
    lacking = (run for one in comparisons for run in incomplete_runs(one.record))
    yield from failures(lacking, INCOMPLETE)
    for label in labels:
        yield from _oddities(label, comparisons, differs=label in different)
    for context in (one.record.context for one in comparisons[:1]):
        if others := context.other_packages:
            text = f"other packages differ, too: {'; '.join(others)}"
            yield _note("other-packages", f"{text}: a new BENCH_CACHE installs all again")
        if context.mixed_origins:
            text = "different compilers built these, and may explain a difference"
            yield _note("mixed-origins", f"{text}: leave out --origin mixed")
    yield from _machines(one.record for one in comparisons)


def failures(failed: Iterable[FailedRuns], how: str = "failed") -> Iterator[Note]:
    """The runs of a revision that gave no measurement, or a part of one: each last word once."""
    alike: dict[tuple[str, str], list[FailedRuns]] = {}
    for one in failed:
        alike.setdefault((one.label, one.message.rstrip(".")), []).append(one)
    for (label, message), found in alike.items():
        count = sum(one.count for one in found)
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        runs = f"{format_count(count, 'run', 'runs')} of {found[0].scenario}{more}"
        text, place = f"{label}, {runs} {how}: {message}", found[0].scenario
        level = WARNING if how == INCOMPLETE else BROKEN
        yield _note(f"{how}-runs", text, level, revision=label, scenario=place, count=count)


def _oddities(label: str, comparisons: Sequence[Comparison], *, differs: bool) -> Iterator[Note]:
    runs = [run for one in comparisons for run in one.record.of(label)]
    counts = {mark: sum(mark in run.marks for run in runs) for mark in _ODD}
    said = [
        ("odd", f": in {n} of {len(runs)} runs {_ODD[mark]}", n) for mark, n in counts.items() if n
    ]
    if left := [run.left for run in runs if run.left]:
        text = f": in {len(left)} of {len(runs)} runs its command ended and left {left[-1]}"
        said.append(("left", text, len(left)))
    if any(_is_counted_dearly(one, label) for one in comparisons):
        text = (
            f" wakes up for less than {COUNTED_DEARLY_S * 1e6:.0f} µs at a time: being counted may "
            "raise its CPU by a third"
        )
        said.append(("counted-dearly", text, 0))
    twin = comparisons[0].record.identical_to(label)
    if twin is not None:
        why = "any difference is chance"
        if differs:
            why = "what differs is chance, or a file or setting that it reads"
        said.append((SAME_BUILD, f" is the same build as {twin}: {why}", 0))
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
    # Why a question is open matters only where nothing failed.
    open_for = {} if verdict.failures else _open_for(verdict, asked)
    for found, shown in zip(verdict.judgements, asked, strict=True):
        kind, level, text = _beside(found, shown)
        if why := open_for.get((found.label, found.place, str(found.criterion))):
            kind, level, text = OPEN, "?", why
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


def _open_for(
    verdict: GateVerdict, asked: Sequence[MetricResult]
) -> dict[tuple[str, str, str], str]:
    """Why questions are open, each with those that are so for the same reason.

    By candidate, place and criterion. The table has their figures.
    """
    alike: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for found, shown in zip(verdict.judgements, asked, strict=True):
        why = _why_open(found) if found.verdict is Verdict.INCONCLUSIVE else ""
        if why:
            group = alike.setdefault((found.label, found.place, why), [])
            group.append((str(found.criterion), forest.cost_of(shown)))
    return {
        (label, place, criterion): (
            f"{label}, {', '.join(cost for _, cost in group)} in {place}: {why}"
        )
        for (label, place, why), group in alike.items()
        for criterion, _ in group
    }


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
    change = f" {forest.change_of(found)}" if found.ratio or found.missed else ""
    return f"{found.revision}: {forest.cost_of(found)}{change}{bounds} in {found.scenario}"


def sentence(found: MetricResult) -> str:
    """An answer of a gate in a line, for what has no tables."""
    certain = forest.interval_of(found).strip(NOTHING)
    is_open = ": inconclusive" if found.verdict is Verdict.INCONCLUSIVE else ""
    risen = _risen(found, f" ({certain})" if certain else "")
    return f"{risen}, allowed {forest.allowed_of(found)}{is_open}"


def _beside(found: Judgement, shown: MetricResult) -> tuple[str, str, str]:
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
    return "", "", ""


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
