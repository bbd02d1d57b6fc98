"""What every form of the gate's verdict says: the headline, the remarks, a ratio, a verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.reporting.sentences import count_disturbed, count_repeated

_NAMED = 3
"""How many places the headline names; the tables have all."""
_MEANS_DIFFER = 1.15
_STEAL_WORTH_SAYING = 0.02
_WORTH_SAYING = 10.0
"""Rises from here on, as a share, are not worth a figure."""


def headline(verdict: GateVerdict) -> str:
    """The outcome in one line, and what it rests on."""
    asked = len(verdict.judgements)
    questions = "1 question" if asked == 1 else f"{asked} questions"
    outcome = verdict.outcome
    if outcome is GateOutcome.FAIL:
        return f"FAIL: {_named(verdict.failures)}"
    if outcome is GateOutcome.NOT_MEASURED:
        return f"NOT MEASURED: {'; '.join(_lacking(verdict))}"
    if outcome is GateOutcome.INCONCLUSIVE:
        return f"INCONCLUSIVE, {len(verdict.open)} of {questions}: {_named(verdict.open)}"
    return f"PASS: {questions} answered"


def reasons(verdict: GateVerdict) -> list[str]:
    """Why it is not a pass, in sentences; none for a pass."""
    said = [
        f"{each.label}, {each.criterion.metric.title} in {each.place}: {ratio_text(each)}, "
        f"beyond {each.criterion}."
        for each in verdict.failures
    ]
    said += map(failed_text, verdict.failed_runs)
    said += [
        f"{place}: the baseline supports it, this candidate does not." for place in verdict.lost
    ]
    said += _about_unmeasured(verdict)
    if not verdict.judgements and not said:
        said.append("No question could be asked of these revisions and scenarios.")
    return said + _about_open(verdict)


def failed_text(runs: FailedRuns) -> str:
    """Which runs failed, and the last words of the last one."""
    words = f", the last time: {runs.message.rstrip('.')}" if runs.message else ""
    return f"{_failed(runs)}{words}."


def by_place(judgements: Iterable[Judgement]) -> Mapping[str, list[Judgement]]:
    """The judgements of each place, in the order of the places' first."""
    places: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        places.setdefault(judgement.place, []).append(judgement)
    return places


def remarks(verdict: GateVerdict) -> list[str]:
    """What must not go unsaid besides the verdicts."""
    said = reasons(verdict)
    said += [excuse for j in verdict.judgements if (excuse := _excuse(j))]
    said += [means for j in verdict.judgements if (means := _about_means(j))]
    if verdict.disturbed_runs:
        said.append(f"{count_repeated(verdict.disturbed_runs)}.")
    if verdict.disturbed_rounds:
        said.append(
            f"{count_disturbed(verdict.disturbed_rounds)}: others used "
            f"{verdict.foreign_cores:.1f} cores then."
        )
    if verdict.steal_share > _STEAL_WORTH_SAYING:
        said.append(
            f"A hypervisor took {_percent(verdict.steal_share)} of the CPU that was asked for."
        )
    said += [
        f"{place}: not asked, as the baseline does not support it." for place in verdict.unsupported
    ]
    return said + list(verdict.left_out)


def criterion_text(judgement: Judgement) -> str:
    """The criterion, without what the place says already."""
    return str(replace(judgement.criterion, together=False))


def ratio_text(judgement: Judgement) -> str:
    """The ratio to the baseline with its bounds; of a tail, how many runs were bad."""
    tail = judgement.tail
    if tail is not None:
        return f"bad {tail.extreme}/{tail.runs}, was {tail.extreme_of_baseline}/{tail.runs}"
    if judgement.ratio is None or judgement.high is None:
        return "–"
    high = _number(judgement.high)
    if judgement.low is None:
        return f"{_number(judgement.ratio)} (≤ {high})"
    return f"{_number(judgement.ratio)} ({_number(judgement.low)}–{high})"


def verdict_text(judgement: Judgement) -> str:
    """The verdict in a word or two."""
    return judgement.verdict.value


def findable_text(judgement: Judgement) -> str:
    """The smallest rise that would have been found, 95 % of the time."""
    found = judgement.would_have_found
    if found is None:
        return "–"
    return f"+ {_percent(found)}" if found < _WORTH_SAYING else f"> {_percent(_WORTH_SAYING)}"


def _named(judgements: Iterable[Judgement]) -> str:
    """The first few: what, and where."""
    found = (f"{j.label}: {j.criterion.metric.name} in {j.place}" for j in judgements)
    texts = list(dict.fromkeys(found))
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return "; ".join(texts[:_NAMED] + more)


def _lacking(verdict: GateVerdict) -> list[str]:
    """What could not be measured, in a few words each."""
    said = []
    if verdict.not_measured:
        said.append(
            f"{len(verdict.not_measured)} of {len(verdict.judgements)} questions, "
            f"{_named(verdict.not_measured)}"
        )
    said += map(_failed, verdict.failed_runs[:_NAMED])
    said += [f"{place} is not supported any more" for place in verdict.lost[:_NAMED]]
    return said or ["no question could be asked"]


def _failed(runs: FailedRuns) -> str:
    times = "1 run" if runs.count == 1 else f"{runs.count} runs"
    return f"{runs.label} failed in {times} of {runs.scenario}"


def _excuse(judgement: Judgement) -> str | None:
    """Why a rise is no regression, or may be none."""
    is_excused = judgement.verdict is Verdict.EXCUSED
    if not (is_excused or judgement.excusable):
        return None
    if judgement.cost is None or judgement.ratio is None or judgement.cost_ratio is None:
        return None
    explained = judgement.criterion.metric.title
    changed = f"{judgement.label} in {judgement.place}: {explained} × {_number(judgement.ratio)}"
    fell = f"{judgement.cost.title} fell × {_number(judgement.cost_ratio)}"
    if is_excused:
        return f"{changed}, but {fell}, which pays for it: no regression."
    return f"{changed}; whether {fell} is not certain in so few rounds."


def _about_means(judgement: Judgement) -> str | None:
    """Where rare dear runs make the means differ from the usual ratio."""
    if judgement.means is None or judgement.ratio is None or judgement.criterion.cost is not None:
        return None
    if judgement.means < judgement.ratio * _MEANS_DIFFER:
        return None
    return (
        f"{judgement.label} in {judgement.place}, {criterion_text(judgement)}: the usual ratio is "
        f"{_number(judgement.ratio)}, that of the means {_number(judgement.means)}: some runs cost "
        "much more."
    )


def _about_unmeasured(verdict: GateVerdict) -> list[str]:
    """Why there is nothing to judge, once for each reason."""
    reasons = dict.fromkeys((j.label, j.why_given_up) for j in verdict.not_measured)
    return [f"No answer for {label}: {why}." for label, why in reasons]


def _about_open(verdict: GateVerdict) -> list[str]:
    """What is inconclusive and why; where something failed, only how much."""
    if not verdict.open:
        return []
    if verdict.failures:
        left = f"{len(verdict.open)} of {len(verdict.judgements)} questions have no certain answer"
        return [f"{left}: where a candidate has failed, little more is measured of it."]
    if verdict.is_disturbed:
        return [
            f"Others used {verdict.foreign_cores:.1f} cores in {verdict.disturbed_rounds} of "
            f"{verdict.rounds} rounds, so {len(verdict.open)} questions have no certain answer. "
            "Let the machine rest, or give the comparison one of its own."
        ]
    said = [_about_noise(judgement) for judgement in verdict.open]
    if any(judgement.rounds for judgement in verdict.open):
        said.append("--max-rounds or --budget allow more rounds, --full has longer runs.")
    return said


def _about_noise(judgement: Judgement) -> str:
    where = f"{judgement.label} in {judgement.place}, {criterion_text(judgement)}"
    if judgement.disturbed > judgement.rounds / 2:
        return (
            f"{where}: inconclusive: in {judgement.disturbed} of {judgement.rounds} rounds the "
            "machine did something else. Let it rest, or give the comparison one of its own."
        )
    if judgement.tail is not None:
        return (
            f"{where}: inconclusive after {judgement.rounds} rounds: {judgement.tail.extreme} of "
            f"{judgement.tail.runs} runs were bad, and {judgement.tail.extreme_of_baseline} of the "
            "baseline's."
        )
    margin = judgement.supported_margin
    if margin is None:
        return f"{where}: inconclusive: too few rounds."
    given_up = ", and given up because more would hardly settle it" if judgement.hopeless else ""
    if judgement.why_given_up is not None:
        given_up = f", and given up, as {judgement.why_given_up}"
    small = margin < _WORTH_SAYING
    supported = f"about {_percent(margin)}" if small else f"none below {_percent(_WORTH_SAYING)}"
    return (
        f"{where}: inconclusive after {judgement.rounds} rounds{given_up}. What was measured "
        f"supports a margin of {supported}."
    )


def _number(ratio: float) -> str:
    if ratio >= 1000:
        return "> 1000"
    if ratio >= 10:
        return f"{ratio:.3g}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _percent(share: float) -> str:
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"
