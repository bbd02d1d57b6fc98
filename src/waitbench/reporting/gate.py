"""A GateVerdict -> what every form of it says: the headline, the remarks, a ratio, a verdict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.rule import ALPHA
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.reporting import forest
from waitbench.reporting.answer import sides_of, tabulate
from waitbench.reporting.document import Document, Sentences, Table
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_digits,
    format_share,
)

_NAMED = 1
"""How many places the headline names; the tables have all."""
_SHOWN = 5
"""How many reasons a summary has before what is folded."""
_COLUMNS = {"change": "change", "interval": "certainly", "allowed": "allowed"}
_STEAL_WORTH_SAYING = 0.02
_WORTH_SAYING = 10.0
"""Rises from here on, as a share, are not worth a figure."""
OUTCOME_STYLES = {
    GateOutcome.PASS: "green bold",
    GateOutcome.FAIL: "red bold",
    GateOutcome.INCONCLUSIVE: "yellow bold",
    GateOutcome.NOT_MEASURED: "red bold",
}

_SIGNS = {
    GateOutcome.PASS: "✅",
    GateOutcome.FAIL: "❌",
    GateOutcome.INCONCLUSIVE: "⚠️",
    GateOutcome.NOT_MEASURED: "❌",
}


def document(verdict: GateVerdict) -> Document:
    """The headline, a table of the judgements, and the remarks."""
    return Document(
        headline=headline(verdict),
        style=OUTCOME_STYLES[verdict.outcome],
        blocks=(table(verdict), Sentences(remarks(verdict))),
        explanation=f"Lower bounds hold for all {verdict.questions} questions and all looks "
        f"together, upper ones for all looks, each with {ALPHA:.0%} error. With a floor, a ratio "
        "is that to the most that is allowed.",
    )


def summary(verdict: GateVerdict) -> Document:
    """What a reviewer reads first: the headline, what it is about, and why; the rest is folded."""
    table = decided(verdict)
    # The table has the failures already.
    said = reasons(verdict)[len(verdict.failures) :][:_SHOWN] + acceptances(verdict)
    return Document(
        headline=f"{_SIGNS[verdict.outcome]} {headline(verdict)}",
        style="",
        blocks=(*((table,) if table.rows else ()), *((Sentences(said),) if said else ())),
        explanation="",
    )


def table(verdict: GateVerdict) -> Table:
    """All that was asked, what failed first."""
    return _table(verdict, forest.of_verdict(verdict, {}), _COLUMNS)


def decided(verdict: GateVerdict, compared: Sequence[Comparison] = ()) -> Table:
    """What the outcome rests on; of a pass, what fell, and what is nearest to its limit.

    With what each scenario costs both sides, as far as that is given.
    """
    decisive = verdict.failures or verdict.not_measured or verdict.open
    rows = [
        row
        for one in (*decisive, *verdict.accepted)
        for row in _with_values(forest.of_judgement(one), one, compared)
    ]
    rows += _holding(verdict)
    has_values = any(row.before != NOTHING for row in rows)
    return _table(verdict, rows, {**(sides_of(compared[0]) if has_values else {}), **_COLUMNS})


def _holding(verdict: GateVerdict) -> list[ForestRow]:
    """What is shown of what holds, where nothing else decides."""
    is_decided = verdict.failures or verdict.not_measured or verdict.open
    if is_decided and verdict.outcome is not GateOutcome.PASS:
        return []
    rows = forest.of_verdict(verdict, {})
    fell = [row for row in rows if row.mark == "▼"]
    return fell + sorted((row for row in rows if row.mark == "✓"), key=forest.headroom)[:1]


def _with_values(
    row: ForestRow, judgement: Judgement, compared: Sequence[Comparison]
) -> Iterator[ForestRow]:
    """A row, with the figures of its scenario; of several, each in a row below it."""
    metric = judgement.criterion.metric
    values = [
        (of.scenario, forest.values_of(of, own, metric))
        for of in compared
        for own in of.rows[1:]
        if of.scenario in judgement.scenarios and own.label == judgement.label
    ]
    if judgement.ratio is None:
        yield row
    elif len(judgement.scenarios) == 1:
        before, after = values[0][1] if values else (NOTHING, NOTHING)
        yield replace(row, before=before, after=after)
    else:
        yield replace(row, before=" ", after=" ") if values else row
        for scenario, (before, after) in values:
            yield ForestRow(
                place=row.place, cost=f"  {scenario}", label=row.label, mark=" ",
                before=before, after=after, change=" ", interval=" ", allowed=" ",
            )  # fmt: skip


def _table(verdict: GateVerdict, rows: Sequence[ForestRow], columns: Mapping[str, str]) -> Table:
    several = len({one.label for one in verdict.judgements}) > 1
    places = [f"{row.label}: {row.place}" if several else row.place for row in rows]
    return tabulate(rows, "cost", columns, places)


def headline(verdict: GateVerdict) -> str:
    """The outcome in one line, and what it rests on."""
    questions = format_count(len(verdict.judgements), "question", "questions")
    outcome = verdict.outcome
    if outcome is GateOutcome.FAIL:
        return f"FAIL: {_listed(map(_risen, verdict.failures))}{_also_accepted(verdict)}"
    if outcome is GateOutcome.NOT_MEASURED:
        return f"NOT MEASURED: {'; '.join(_lacking(verdict))}{_also_accepted(verdict)}"
    if outcome is GateOutcome.INCONCLUSIVE:
        said = f"INCONCLUSIVE, {len(verdict.open)} of {questions}: {_named(verdict.open)}"
        return f"{said}{_also_accepted(verdict)}"
    return f"PASS: {questions}{_also_accepted(verdict) or ', none beyond its limit'}"


def reasons(verdict: GateVerdict) -> list[str]:
    """Why it is not a pass, in sentences; none for a pass."""
    said = list(map(_failure, verdict.failures))
    said += map(failed_text, verdict.failed_runs)
    said += map(lost_text, verdict.lost)
    said += dict.fromkeys(map(_unanswered, verdict.not_measured))
    if not verdict.judgements and not said:
        said.append("No question could be asked of these revisions and scenarios.")
    return said + _about_open(verdict)


def sentence(judgement: Judgement) -> str | None:
    """What one answer says, and what it is beyond; ``None`` where it is that all is well."""
    if judgement.accepted is not None:
        return _acceptance(judgement, judgement.accepted)
    if judgement.fails:
        return _failure(judgement)
    if judgement.is_unmeasured:
        return _unanswered(judgement)
    return _about_noise(judgement) if judgement.is_open else _excuse(judgement)


def _failure(judgement: Judgement) -> str:
    return f"{_risen(judgement)}{_certainly(judgement)}, beyond {judgement.criterion}."


def _unanswered(judgement: Judgement) -> str:
    return f"No answer for {judgement.label}: {judgement.why_given_up}."


def _acceptance(judgement: Judgement, accepted: Acceptance) -> str:
    return (
        f"Accepted until {accepted.until}: {judgement.label}, {judgement.criterion.metric.title} "
        f"in {judgement.place}: {ratio_text(judgement)}, beyond {judgement.criterion}. "
        f"{accepted.reason}"
    )


def lost_text(place: str) -> str:
    """What the baseline supports and a candidate does not."""
    return f"{place}: the baseline supports it, this candidate does not."


def acceptances(verdict: GateVerdict) -> list[str]:
    """What the project accepts for a time, a sentence each: what it excused, or that it did not."""
    said = [
        _acceptance(each, each.accepted) for each in verdict.accepted if each.accepted is not None
    ]
    needed = {each.accepted for each in verdict.accepted}
    for one in verdict.acceptances:
        if one.is_over:
            said.append(f"Not accepted after {one.until}: {one}. {one.reason}")
        elif one not in needed:
            said.append(f"Accepted until {one.until}, and not needed here: {one}. {one.reason}")
    return said


def _also_accepted(verdict: GateVerdict) -> str:
    number = len(verdict.accepted)
    return f"; {format_count(number, 'regression', 'regressions')} accepted" if number else ""


def failed_text(runs: FailedRuns) -> str:
    """Which runs failed, and the last words of the last one."""
    words = f", the last time: {runs.message.rstrip('.')}" if runs.message else ""
    return f"{_failed(runs)}{words}."


def said(verdict: GateVerdict) -> list[str]:
    """What stands below the table of what decided: how much else holds, and the remarks."""
    decisive = (*verdict.failures, *verdict.accepted, *verdict.open, *verdict.not_measured)
    others = len(verdict.judgements) - len(decisive) - len(_holding(verdict))
    holds = (
        "1 other holds (-v shows it)" if others == 1 else f"{others} others hold (-v shows them)"
    )
    # The table has the failures already.
    return [*([f"✓ {holds}"] if others > 0 else []), *remarks(verdict)[len(verdict.failures) :]]


def remarks(verdict: GateVerdict) -> list[str]:
    """What must not go unsaid besides the verdicts."""
    said = [*reasons(verdict), *acceptances(verdict)]
    said += [excuse for j in verdict.judgements if (excuse := _excuse(j))]
    said += [means for j in verdict.judgements if (means := _about_means(j))]
    if verdict.disturbed_runs:
        repeated = format_count(verdict.disturbed_runs, "run was", "runs were")
        said.append(f"{repeated} repeated because other programs used the machine.")
    if verdict.disturbed_rounds:
        counted = format_count(verdict.disturbed_rounds, "round counts", "rounds count")
        said.append(
            f"{counted} although other programs used {verdict.foreign_cores:.1f} cores in every "
            "attempt."
        )
    if verdict.steal_share > _STEAL_WORTH_SAYING:
        said.append(
            f"A hypervisor took {format_share(verdict.steal_share)} of the CPU that was asked for."
        )
    said += [
        f"{place}: not asked, as the baseline does not support it." for place in verdict.unsupported
    ]
    return said + list(verdict.left_out)


def _without_place(judgement: Judgement) -> str:
    """The criterion, without what the place says already."""
    return str(replace(judgement.criterion, each=False))


def ratio_text(judgement: Judgement) -> str:
    """The ratio with its bounds: to the baseline, or where there is a floor, to what is allowed."""
    if judgement.ratio is None:
        return NOTHING
    bounds = forest.certainly(judgement)
    return f"{forest.change_of(judgement, judgement.ratio)}{f' ({bounds})' if bounds else ''}"


def _dear_text(judgement: Judgement) -> str:
    """How many of its runs were dear where the baseline's were not, and the reverse."""
    if judgement.dear is None:
        return NOTHING
    dear = judgement.dear
    return (
        f"{dear.candidate} of {dear.pairs} runs cost more than twice the baseline's median, and "
        f"{dear.baseline} of the baseline's"
    )


def _named(judgements: Iterable[Judgement]) -> str:
    """The first few: what, and where."""
    return _listed(f"{j.label}: {j.criterion.metric.name} in {j.place}" for j in judgements)


def _listed(found: Iterable[str]) -> str:
    texts = list(dict.fromkeys(found))
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return "; ".join(texts[:_NAMED] + more)


def _risen(judgement: Judgement) -> str:
    """What rose by how much, and where."""
    what = judgement.criterion.metric.title
    if judgement.by_dear_runs:
        risen = f"dear runs of {what}"
    elif judgement.ratio is None:
        risen = what
    else:
        risen = f"{what} {forest.change_of(judgement, judgement.ratio)}"
    return f"{judgement.label}: {risen} in {judgement.place}"


def _certainly(judgement: Judgement) -> str:
    if judgement.by_dear_runs:
        return f" ({_dear_text(judgement)})"
    if judgement.low is None:
        return ""
    return f" (for certain {forest.change_of(judgement, judgement.low)})"


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
    return f"{runs.label} failed in {format_count(runs.count, 'run', 'runs')} of {runs.scenario}"


def _excuse(judgement: Judgement) -> str | None:
    """Why a rise is no regression."""
    if judgement.verdict is not Verdict.EXCUSED:
        return None
    if judgement.cost is None or judgement.ratio is None or judgement.cost_ratio is None:
        return None
    rose = f"{judgement.criterion.metric.title} {forest.change_of(judgement, judgement.ratio)}"
    fell = f"{judgement.cost.title} {format_change(judgement.cost_ratio)}"
    return f"{judgement.label} in {judgement.place}: {rose}, but {fell}: no regression."


def _about_means(judgement: Judgement) -> str | None:
    """What rare dear runs cost on the average, where it fails by these."""
    if not judgement.by_dear_runs:
        return None
    where = f"{judgement.label} in {judgement.place}, {_without_place(judgement)}"
    return f"{where}: {_by_means(judgement)}."


def _by_means(judgement: Judgement) -> str:
    if judgement.ratio is None or judgement.means is None:
        return ""
    usual, means = (forest.change_of(judgement, one) for one in (judgement.ratio, judgement.means))
    return f"usually {usual}, but {means} by the means: some runs cost much more"


def _about_open(verdict: GateVerdict) -> list[str]:
    """What is inconclusive and why; where something failed, only how much."""
    if not verdict.open:
        return []
    if verdict.failures:
        left = f"{len(verdict.open)} of {len(verdict.judgements)} questions have no certain answer"
        return [f"{left}: where a candidate has failed, little more is measured of it."]
    if verdict.is_disturbed:
        return [
            f"Other programs used {verdict.foreign_cores:.1f} cores in {verdict.disturbed_rounds} "
            f"of {verdict.rounds} rounds, so {len(verdict.open)} questions have no certain answer. "
            "Let the machine rest, or give the comparison one of its own."
        ]
    said = [_about_noise(judgement) for judgement in verdict.open]
    if any(judgement.rounds for judgement in verdict.open):
        said.append("--rounds or --budget allow more rounds, --full has longer runs.")
    return said


def _about_noise(judgement: Judgement) -> str:
    where = f"{judgement.label} in {judgement.place}, {_without_place(judgement)}"
    if judgement.is_disturbed:
        return (
            f"{where}: inconclusive: in {judgement.disturbed} of {judgement.rounds} rounds the "
            "machine was used by other programs. Let it rest, or give the comparison one of its "
            "own."
        )
    if judgement.ratio is None:
        return f"{where}: inconclusive: too few rounds."
    after = f"{where}: inconclusive after {judgement.rounds} rounds"
    if judgement.why_given_up is not None:
        after += f", and given up, as {judgement.why_given_up}"
    most = 1 if judgement.criterion.floor else 1 + judgement.criterion.margin
    if judgement.is_mean_beyond and judgement.ratio < most:
        return f"{after}: {_by_means(judgement)}."
    if judgement.high is not None and judgement.high < most:
        return f"{after}, too few to exclude rare dear ones: {_dear_text(judgement)}."
    if judgement.high is None or judgement.criterion.floor:
        return f"{after}: it may be more than is allowed."
    rise = judgement.high - 1
    possible = (
        f"up to {format_digits(rise * 100, 3)} %"
        if rise < _WORTH_SAYING
        else f"more than {format_share(_WORTH_SAYING)}"
    )
    return f"{after}. A rise of {possible} is possible."
