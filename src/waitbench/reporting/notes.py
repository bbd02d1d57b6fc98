"""Notes: the facts that a reader must know beside the figures, each as a sentence.

The level of a note is its mark, such as ✗. Views select notes by kind and level, and never change
their words.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from waitbench.analysis.gate import LOST, UNSUPPORTED, FailedRuns, GateVerdict, incomplete_runs
from waitbench.analysis.judging import Judgement
from waitbench.analysis.results import MetricResult, Note
from waitbench.analysis.rule import NOT_WITHIN
from waitbench.analysis.statistics import BELOW_RESOLUTION, SIDE_EFFECTS, Comparison
from waitbench.model.run import BY_PROC, ENDED, INCOMPLETE, RESTARTED, SENT_AT_END
from waitbench.model.verdicts import CERTAIN, PASSING, Estimate, GateStatus, Verdict
from waitbench.reporting import forest
from waitbench.reporting.document import grouped
from waitbench.reporting.drawing import FAILURE, HOLDS, MARKS, NOT_COMPARED, WARNING
from waitbench.reporting.formats import (
    NOTHING,
    format_bound,
    format_change,
    format_count,
    format_limit,
    format_share,
)
from waitbench.system.installation import called

OUTCOME, CHANGE, WORSE, OPEN = "outcome", "change", "worse", "open"
HEADLINES = (OUTCOME, CHANGE, WORSE)
"""Kinds of notes at the head of a report."""
SAME_BUILD = "same-build"
DISTURBED = "disturbed"
ENOUGH_ROUNDS = 5
"""The number of rounds that can tell a large change from chance."""
COSTLY_COUNTING_S = 10e-6
"""With less CPU per wake-up, counting may add a third to it: docs/trials/counting-cost.txt."""
_LEAST_RISE_S = 5e-5
"""Smaller rises of lateness, start-up and shutdown are not mentioned."""
_MOST_IN_FULL = 2
"""The most candidates with a line for each cost; if there are more, each has a single line."""
_OF_WAITING = ("latency", "latency-p50", "wakeups", "syscalls")
_STATUS_MARKS = {
    GateStatus.PASS: HOLDS,
    GateStatus.FAIL: FAILURE,
    GateStatus.INCONCLUSIVE: "?",
    GateStatus.NOT_MEASURED: WARNING,
}
_NOT_ASKED = {
    LOST: "the baseline supports it, this candidate does not",
    UNSUPPORTED: "rises are not judged, as the baseline does not support it",
    ENDED: "not asked, as the worker ends there, which is allowed",
}
_REMEDIES = {
    RESTARTED: "it started processes during the window, which should be idle: turn that off",
    BY_PROC: f"the kernel did not count: {called('doctor')} says how to fix it",
    SENT_AT_END: "lateness counts from the start of the poke, which reported `sent` at its end",
}


def _note(kind: str, text: str, level: str = WARNING, **about: Any) -> Note:
    return Note(kind=kind, level=level, text=text, **about)


def changes(results: Sequence[MetricResult]) -> Iterator[Note]:
    """Changes of total CPU, real time and system time of each candidate, and other rises."""
    labels = [*dict.fromkeys(it.revision for it in results if it.judged)]
    is_brief = len(labels) > _MOST_IN_FULL
    for label in labels:
        group = [it for it in results if it.revision == label]
        lines = [*_main_changes(group, is_brief=is_brief), *_other_rises(group, is_brief=is_brief)]
        if is_brief and lines:
            text = "; ".join(line.text for line in lines)
            rises = [line for line in lines if line.level == MARKS[Verdict.SLOWER]]
            kind = WORSE if any(line.kind == WORSE for line in rises) else CHANGE
            lines = [_note(kind, text, (rises or lines)[0].level, count=len(group))]
        prefix = f"{label}: " if labels[1:] else ""
        for line in lines:
            yield replace(line, text=f"{prefix}{line.text}", revision=label)


def _main_changes(results: Sequence[MetricResult], *, is_brief: bool) -> Iterator[Note]:
    """A line for each main cost. User time has none, as it is part of total CPU."""
    names: tuple[str, ...] = ("cpu", "real", "system")
    if not any(it.judged and it.metric.name == "cpu" for it in results):
        names = tuple(it.metric.name for it in results if it.judged)[:1]
    is_less = {it.scenario for it in results if it.judged and it.verdict is Verdict.FASTER}
    for name in names:
        group = [it for it in results if it.metric.name == name]
        is_certain = any(it.verdict in CERTAIN for it in group)
        if not group or (is_brief and name == "system" and not is_certain):
            continue
        risen = [it for it in group if it.verdict is Verdict.SLOWER]
        text = _change_in(group, is_brief=is_brief)
        if name == "system" and risen and is_less.issuperset(it.scenario for it in risen):
            text += ", while total CPU fell there"
        yield _note(CHANGE, f"{group[0].metric.title} {text}", _mark(group), count=len(group))


def _mark(group: Sequence[MetricResult]) -> str:
    """The mark of a line about several scenarios: that of a rise, if there is one."""
    verdicts = {it.verdict for it in group}
    marked = next((it for it in MARKS if it in verdicts), None)
    return MARKS[marked] if marked else forest.mark_of(group[0])


def _change_in(group: Sequence[MetricResult], *, is_brief: bool) -> str:
    """The scenarios where a cost rose, fell or stayed the same, with the largest change."""
    if len(group) == 1:
        return _single_change(group[0])
    parts: list[str] = []
    for verdict, word in ((Verdict.SLOWER, "more"), (Verdict.FASTER, "less")):
        if certain := [it for it in group if it.verdict is verdict]:
            largest = max(certain, key=lambda it: abs(math.log(it.ratio.value)) if it.ratio else 0)
            change, place = forest.change_of(largest).strip(NOTHING), largest.scenario
            where = f"{_in_how_many(certain, group)}, most in" if certain[1:] else "in"
            figures = f"{_values(largest)}, {change}" if change else _values(largest)
            parts.append(
                f"{word} {_in_how_many(certain, group)} ({change or figures} in {place})"
                if is_brief
                else f"{word} {where} {place} ({figures})"
            )
    if same := [it for it in group if it.verdict is Verdict.WITHIN_MARGIN]:
        bound = format_bound(it.ratio for it in same if it.ratio)
        parts.append(f"within {bound} {_in_how_many(same, group)}")
    unsure = [it for it in group if it.verdict is Verdict.INCONCLUSIVE]
    if unsure and not (is_brief and parts):
        widest = max(unsure, key=lambda it: _width_of(it.ratio))
        known = forest.interval_of(widest)
        where = "" if is_brief or known == NOTHING else f" ({known} in {widest.scenario})"
        parts.append(f"unclear {_in_how_many(unsure, group)}{where}")
    reasons = grouped((it for it in group if it.verdict is None), lambda it: it.why_not)
    parts += [f"{_reason(alike[0])} {_in_how_many(alike, group)}" for alike in reasons.values()]
    return "; ".join(parts)


def _values(result: MetricResult) -> str:
    return f"{forest.before_of(result)} → {forest.after_of(result)}"


def _single_change(result: MetricResult) -> str:
    """The change of a cost in the only scenario of the comparison."""
    values = _values(result)
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


def _in_how_many(group: Sequence[MetricResult], of_all: Sequence[MetricResult]) -> str:
    return f"in all {len(of_all)}" if len(group) == len(of_all) else f"in {len(group)}"


def _width_of(ratio: Estimate | None) -> float:
    return ratio.high / ratio.low if ratio and ratio.low and ratio.high else math.inf


def _reason(result: MetricResult) -> str:
    """The reason for having no ratio."""
    if result.why_not != BELOW_RESOLUTION:
        return result.why_not
    return f"below {format_limit(result.metric.resolution, result.metric)}"


def _other_rises(results: Sequence[MetricResult], *, is_brief: bool) -> Iterator[Note]:
    """Certain rises of other costs, each with the scenario of the largest rise."""
    others = [it for it in results if it.metric.name in SIDE_EFFECTS and not it.judged]
    others = [it for it in others if it.waits or it.metric.name not in _OF_WAITING]
    compared, texts = [it for it in others if it.verdict is not None], []
    for title, risen in grouped(filter(_is_rise, others), lambda it: it.metric.title).items():
        largest = max(risen, key=lambda it: it.ratio.value if it.ratio else 0)
        more = f" and {len(risen) - 1} more" if risen[1:] else ""
        full = f"{_values(largest)} in {largest.scenario}{more}"
        texts.append(f"{title} {_in_how_many(risen, ()) if is_brief else full}")
    if texts:
        level, text = MARKS[Verdict.SLOWER], f"worse: {'; '.join(texts)}"
        yield _note(WORSE, text, level, count=len(texts))
    elif compared and not is_brief and not any(NOT_WITHIN in it.why_not for it in others):
        unclear = [it for it in compared if it.verdict is Verdict.INCONCLUSIVE]
        titles = ", ".join(dict.fromkeys(it.metric.title for it in unclear or compared))
        verdict = Verdict.INCONCLUSIVE if unclear else Verdict.WITHIN_MARGIN
        text = "no other rise is certain; unclear" if unclear else "nothing else got worse"
        yield _note(WORSE, f"{text}: {titles}", MARKS[verdict])


def _is_rise(result: MetricResult) -> bool:
    before, after = result.before, result.after
    is_much = before and after and after.value - before.value >= _LEAST_RISE_S
    return bool(is_much) and result.verdict is Verdict.SLOWER


def cautions(comparisons: Sequence[Comparison], *, is_gate: bool = False) -> Iterator[Note]:
    """Reasons to distrust figures, with remedies."""
    records = [comparison.record for comparison in comparisons]
    labels = dict.fromkeys(label for it in comparisons for label in it.figures)
    rounds = sum(it.rounds for it in comparisons)
    if disturbed := sum(len(record.disturbed_rounds) for record in records):
        of_all = format_count(rounds, "round", "rounds")
        text = f"{disturbed} of {of_all} disturbed by other programs"
        yield _note(DISTURBED, f"{text}: repeat on an idle machine", count=disturbed)
    # A gate chooses the number of rounds itself.
    if len(labels) > 1 and not is_gate and rounds and all(it.rounds < 2 for it in comparisons):
        text = f"one round cannot tell a change from chance: --rounds {ENOUGH_ROUNDS} can"
        yield _note("one-round", text)
    yield from failures((run for record in records for run in incomplete_runs(record)), INCOMPLETE)
    for label in labels:
        yield from _cautions_about(label, comparisons)
    if records and (others := records[0].context.other_packages):
        text = f"other packages differ, too: {'; '.join(others)}"
        yield _note("other-packages", f"{text}: a new BENCH_CACHE installs all again")
    if records and records[0].context.mixed_origins:
        text = "different compilers built these, and may explain a difference"
        yield _note("mixed-origins", f"{text}: leave out --origin mixed")


def failures(failed: Iterable[FailedRuns], how: str = "failed") -> Iterator[Note]:
    """Failed or incomplete runs, a note for each revision and message."""
    by_message = grouped(failed, lambda runs: (runs.label, runs.message.rstrip(".")))
    for (label, message), alike in by_message.items():
        count, place = sum(it.count for it in alike), alike[0].scenario
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        text = f"{label}, {format_count(count, 'run', 'runs')} of {place}{more} {how}: {message}"
        level = WARNING if how == INCOMPLETE else FAILURE
        yield _note(f"{how}-runs", text, level, revision=label, scenario=place, count=count)


def _cautions_about(label: str, comparisons: Sequence[Comparison]) -> Iterator[Note]:
    """Reasons to distrust the figures of one revision."""
    runs = [run for it in comparisons for run in it.record.of(label)]
    note = partial(_note, revision=label)
    for mark, remedy in _REMEDIES.items():
        if count := sum(mark in run.marks for run in runs):
            yield note("odd", f"{label}: in {count} of {len(runs)} runs {remedy}", count=count)
    if left := [run.left for run in runs if run.left]:
        text = f"in {len(left)} of {len(runs)} runs its command ended and left {left[-1]}"
        yield note("left", f"{label}: {text}", count=len(left))
    if any(_is_costly_to_count(it, label) for it in comparisons):
        often = f"wakes up for less than {COSTLY_COUNTING_S * 1e6:.0f} µs at a time"
        text = f"{label} {often}: being counted may raise its CPU by a third"
        yield note("costly-counting", text)
    twin = comparisons[0].record.identical_to(label)
    if twin is not None:
        why = "any difference is chance, or in a module, file or setting that it reads"
        yield note(SAME_BUILD, f"{label} is the same build as {twin}: {why}")


def _is_costly_to_count(comparison: Comparison, label: str) -> bool:
    means, runs = comparison.means(label), comparison.record.of(label)
    if any(BY_PROC in run.marks for run in runs) or not {"idle", "wakeups"} <= means.keys():
        return False
    idle_s, wakeups = means["idle"].value, means["wakeups"].value
    return 0 < idle_s < COSTLY_COUNTING_S * wakeups


def of_verdict(verdict: GateVerdict) -> Iterator[Note]:
    """The outcome of a gate, its reasons, and remarks on single questions."""
    answers, total = verdict.judgements, len(verdict.judgements)
    text = f"{verdict.outcome.value.upper()}: {_headline(verdict)}"
    yield _note(OUTCOME, text, _STATUS_MARKS[verdict.outcome], count=total)
    yield from failures(verdict.failed_runs)
    # After a failure of a revision, its open questions do not matter.
    failed = {answer.revision for answer in verdict.failures}
    unsettled = [it for it in answers if _why_open(it) and it.revision not in failed]
    by_reason = grouped(unsettled, lambda it: (it.revision, it.scenario, _why_open(it)))
    for answer in answers:
        kind, level, text = _remark(answer)
        if alike := by_reason.get((answer.revision, answer.scenario, why := _why_open(answer))):
            titles = ", ".join(map(forest.cost_of, alike))
            kind, level = OPEN, "?"
            text = f"{answer.revision}, {titles} in {answer.scenario}: {why}"
        if kind:
            yield _note(
                kind, text, level, scenario=answer.scenario, revision=answer.revision,
                criterion=str(answer.criterion), count=answer.rounds,
            )  # fmt: skip
    reasons = {True: "have no certain answer: the gate stops early after a failure", False: "open"}
    for has_failed, why in reasons.items() if failed else ():
        left = verdict.answers(Verdict.INCONCLUSIVE)
        if count := sum((it.revision in failed) is has_failed for it in left):
            yield _note("unfinished", f"{count} of {total} questions {why}", "?", count=count)
    holding = sum(answer.verdict in PASSING for answer in answers)
    if 0 < holding < total:
        yield _note("holds", f"{holding} of {total} questions hold", HOLDS, count=holding)
    for place, why in verdict.not_asked:
        level = FAILURE if why == LOST else NOT_COMPARED
        yield _note(why, f"{place}: {_NOT_ASKED[why]}", level, scenario=place)
    for text in verdict.left_out:
        yield _note("left-out", text.rstrip("."), NOT_COMPARED)


def _headline(verdict: GateVerdict) -> str:
    answers = verdict.judgements
    questions = format_count(len(answers), "question", "questions")
    accepted = format_count(len(verdict.accepted), "regression", "regressions")
    also = f"; {accepted} accepted" if verdict.accepted else ""
    if verdict.outcome is GateStatus.FAIL:
        first, *others = dict.fromkeys(_risen(answer) for answer in answers if answer.fails)
        return f"{first}{f'; {len(others)} more' if others else ''}{also}"
    if verdict.outcome is GateStatus.PASS:
        if all(answer.limit for answer in answers):
            return format_count(len(answers), "limit holds", "limits hold")
        return f"{questions}{also or ', no regression'}"
    runs = sum(it.count for it in verdict.failed_runs)
    unsettled, lacking = map(verdict.answers, (Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED))
    lost = [place for place, why in verdict.not_asked if why == LOST]
    reasons = [
        f"{len(unsettled)} of {questions} open" if unsettled else "",
        "no round was complete" if unsettled and not any(it.rounds for it in answers) else "",
        f"{len(lacking)} of {questions} not measured" if lacking else "",
        f"{format_count(runs, 'run', 'runs')} failed" if runs else "",
        *(f"{place} is not supported any more" for place in lost[:1]),
    ]
    return f"{'; '.join(filter(None, reasons)) or 'no question could be asked'}{also}"


def _risen(answer: MetricResult, bounds: str = "") -> str:
    """The revision, the cost and its change, and the scenario."""
    change = forest.change_of(answer).strip(NOTHING) if answer.ratio or answer.missed else ""
    if answer.ratio and not change and answer.before and answer.after:
        change = _values(answer)
    rise = f"{forest.cost_of(answer)} {change}".rstrip()
    return f"{answer.revision}: {rise}{bounds} in {answer.scenario}"


def sentence(answer: MetricResult) -> str:
    """An answer of a gate as a line of text, for views without tables."""
    certain = forest.interval_of(answer).strip(NOTHING)
    suffix = ": inconclusive" if answer.verdict is Verdict.INCONCLUSIVE else ""
    risen = _risen(answer, f" ({certain})" if certain else "")
    return f"{risen}, allowed {forest.allowed_of(answer)}{suffix}"


def _remark(answer: Judgement) -> tuple[str, str, str]:
    """The kind, level and text of a remark on an answer; empty if it needs none."""
    if answer.accepted is not None:
        until, reason = answer.accepted.until, answer.accepted.reason
        return "accepted", WARNING, f"accepted until {until}: {sentence(answer)}. {reason}"
    if answer.verdict is Verdict.NOT_MEASURED:
        return "not-measured", FAILURE, f"no answer for {answer.revision}: {answer.why_given_up}"
    cost = answer.criterion.cost
    if answer.verdict is Verdict.EXPLAINED and cost and answer.cost_ratio:
        fell = f"{cost.title} {format_change(answer.cost_ratio.value)}"
        return "explained", WARNING, f"{_risen(answer)}, but {fell}: no regression"
    return "", "", ""


def _why_open(answer: Judgement) -> str:
    """The reason why a question is open, if its bounds do not show it; else empty."""
    if answer.verdict is not Verdict.INCONCLUSIVE or answer.is_disturbed:
        # For disturbed rounds there is another note.
        return ""
    if answer.awaits_turn:
        return "all rounds were concurrent"
    # With a limit or an allowance, the ratio is a share of the allowed cost.
    is_share = bool(answer.limit or answer.allowance)
    reasons, most = [answer.why_given_up or ""], answer.most
    ratio, outliers = answer.ratio, answer.outliers
    if ratio and answer.criterion.cost and answer.cost_ratio and (ratio.low or 0.0) > most:
        reasons.append(f"{answer.criterion.cost.title} may have fallen: more rounds can show it")
    is_within = ratio is not None and ratio.value < most
    if is_within and answer.mean_ratio is not None:
        means = answer.mean_ratio
        change = f"{format_share(means)} of allowed" if is_share else format_change(means)
        reasons.append(f"{change} between the means, as some runs cost much more")
    elif is_within and answer.costly_scenarios and len(answer.scenarios) > 1:
        place = answer.scenarios[answer.costly_scenarios[0]]
        reasons.append(f"{place} by itself seems to cost much more")
    elif ratio and ratio.high is not None and ratio.high < most and outliers is not None:
        count, pairs = outliers.candidate, outliers.pairs
        reasons.append(
            f"{count} of {pairs} runs cost more than twice what is usually allowed"
            if count
            else f"{pairs} runs are too few to rule out rare ones that cost more"
        )
    return "; ".join(filter(None, reasons))
