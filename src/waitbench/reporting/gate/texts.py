"""What every form of the gate's verdict says: the headline, the remarks, a ratio, a verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import Verdict
from waitbench.reporting.sentences import count_disturbed, count_repeated

_NAMED = 3
"""How many places the headline names; the tables have all."""
_WORTH_SAYING = 10.0
"""Rises from here on, as a share, are not worth a figure."""


def headline(verdict: GateVerdict) -> str:
    """The verdict in one line."""
    failed = [judgement for judgement in verdict.failures if judgement.fails]
    if failed:
        return f"FAIL: {_named(failed)}"
    if verdict.failures:
        return f"FAIL, open where none may be (--strict): {_named(verdict.failures)}"
    asked = len(verdict.judgements)
    questions = "1 question" if asked == 1 else f"{asked} questions"
    if verdict.not_measured:
        lacking = len(verdict.not_measured)
        return f"NOT MEASURED, {lacking} of {questions}: {_named(verdict.not_measured)}"
    if not asked:
        return "PASS, but no question could be asked"
    if verdict.open:
        return f"PASS, {len(verdict.open)} of {questions} open: {_named(verdict.open)}"
    return f"PASS, no question open: {questions} answered"


def by_place(judgements: Iterable[Judgement]) -> Mapping[str, list[Judgement]]:
    """The judgements of each place, in the order of the places' first."""
    places: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        places.setdefault(judgement.place, []).append(judgement)
    return places


def remarks(verdict: GateVerdict) -> list[str]:
    """What must not go unsaid besides the verdicts."""
    said = [excuse for j in verdict.judgements if (excuse := _excuse(j))]
    said += _about_unmeasured(verdict)
    said += _about_open(verdict)
    if verdict.disturbed_runs:
        said.append(f"{count_repeated(verdict.disturbed_runs)}.")
    if verdict.disturbed_rounds:
        said.append(f"{count_disturbed(verdict.disturbed_rounds)}.")
    said += [f"{place}: not supported, so not judged." for place in verdict.unsupported]
    return said + list(verdict.left_out)


def criterion_text(judgement: Judgement) -> str:
    """The criterion, without what the place says already."""
    return str(replace(judgement.criterion, together=False))


def ratio_text(judgement: Judgement) -> str:
    """The ratio to the baseline with its bounds."""
    if judgement.ratio is None or judgement.low is None or judgement.high is None:
        return "–"
    low, high = _number(judgement.low), _number(judgement.high)
    return f"{_number(judgement.ratio)} ({low}–{high})"


def verdict_text(judgement: Judgement) -> str:
    """The verdict, with what qualifies it."""
    if judgement.cost_fell and judgement.verdict in (Verdict.SLOWER, Verdict.UNCLEAR):
        return "cost fell"
    return "open" if judgement.is_open else judgement.verdict.value


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


def _excuse(judgement: Judgement) -> str | None:
    """Why a rise is no regression, or may be none."""
    if not (judgement.is_forgiven or judgement.excusable):
        return None
    if judgement.cost is None or judgement.ratio is None or judgement.cost_ratio is None:
        return None
    explained = judgement.criterion.metric.title
    rose = f"{judgement.label} in {judgement.place}: {explained} rose × {_number(judgement.ratio)}"
    fell = f"fell × {_number(judgement.cost_ratio)}"
    if judgement.is_forgiven:
        return f"{rose}, but {judgement.cost.title} {fell}: no regression."
    return f"{rose}; whether {judgement.cost.title} {fell} is not certain in so few rounds."


def _about_unmeasured(verdict: GateVerdict) -> list[str]:
    """Why there is nothing to judge, once for each reason."""
    reasons = dict.fromkeys((j.label, j.why_given_up) for j in verdict.not_measured)
    return [f"No answer for {label}: {why}." for label, why in reasons]


def _about_open(verdict: GateVerdict) -> list[str]:
    """What is open and why; where something failed, only how much."""
    if not verdict.open:
        return []
    if any(judgement.fails for judgement in verdict.judgements):
        left = f"{len(verdict.open)} of {len(verdict.judgements)} questions were left open"
        return [f"{left}: where a candidate has failed, it is not measured any further."]
    said = [_about_noise(judgement) for judgement in verdict.open]
    if any(judgement.rounds for judgement in verdict.open):
        said.append("What is open: --max-rounds or --budget allow more, --full has longer runs.")
    return said


def _about_noise(judgement: Judgement) -> str:
    where = f"{judgement.label} in {judgement.place}, {criterion_text(judgement)}"
    margin = judgement.supported_margin
    if margin is None:
        return f"{where}: open: too few rounds."
    if judgement.disturbed > judgement.rounds / 2:
        return (
            f"{where}: open: in {judgement.disturbed} of {judgement.rounds} rounds the machine did "
            "something else. Let it rest, or give the comparison one of its own."
        )
    given_up = ", and given up because more would hardly settle it" if judgement.hopeless else ""
    if judgement.why_given_up is not None:
        given_up = f", and given up, as {judgement.why_given_up}"
    small = margin < _WORTH_SAYING
    supported = f"about {_percent(margin)}" if small else f"none below {_percent(_WORTH_SAYING)}"
    return (
        f"{where}: open after {judgement.rounds} rounds{given_up}. What was measured supports a "
        f"margin of {supported}."
    )


def _number(ratio: float) -> str:
    if ratio >= 1000:
        return "> 1000"
    if ratio >= 10:
        return f"{ratio:.3g}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _percent(share: float) -> str:
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"
