"""Records and criteria -> questions; a question and the rounds so far -> its answer, by the rule.

A component of a cost fails only where that cost did not certainly fall by a tenth. Nothing passes
if most rounds were disturbed, but failures stay: processes that a candidate leaves behind disturb
the baseline's next run. A candidate also fails if it misses a time limit that the baseline keeps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from msgspec import structs

from waitbench.analysis.criteria import DEFAULTS, Criterion, Scope
from waitbench.analysis.results import MetricResult
from waitbench.analysis.rounds import mostly_disturbed, paired_by_round
from waitbench.analysis.rule import (
    RULE,
    Missed,
    Pairs,
    Rule,
    RuleResult,
    both_missed,
    judge_limit,
    judge_pairs,
    not_within,
    tied,
)
from waitbench.model.metrics import STOP, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.verdicts import Estimate, Verdict

_PASSES = (Verdict.WITHIN_MARGIN, Verdict.FASTER)
_SINGLE_SCENARIO_MARGIN = 0.15
"""The least margin for times of a single scenario; resolving less takes longer than minutes."""
_FEW = 100
_ONE_TIMER = {"wakeups": 2.0, "syscalls": 5.0}
"""The allowance of counts where the baseline has fewer than ``_FEW`` in a run. A timer wakes an
unchanged worker once more in some windows than in others: more than 5 % where it seldom does."""


@dataclass(frozen=True, kw_only=True)
class Judgement(MetricResult):
    """A question, one criterion about one candidate in some scenarios, with its answer."""

    criterion: Criterion
    records: tuple[ScenarioResults, ...]
    rule: Rule = RULE
    is_partial: bool = False
    """Whether some of its scenarios are measured elsewhere, so that it only guides."""
    verdict: Verdict = Verdict.INCONCLUSIVE
    judged: bool = True
    cost_ratio: Estimate | None = None
    """The ratio of the cost that the metric explains, where it was measured and counts."""
    disturbed: int = 0
    why_given_up: str | None = None
    """Why there will be no more rounds: runs fail, or lack the metric."""
    has_no_answer: bool = False
    """Whether both sides always miss the time limit, so that there is nothing to compare."""

    @property
    def is_disturbed(self) -> bool:
        return mostly_disturbed(self.disturbed, self.rounds)

    @property
    def settled(self) -> bool:
        has_ended = self.why_given_up is not None or self.rounds >= self.rule.analyses[-1]
        return has_ended or self.verdict is not Verdict.INCONCLUSIVE

    def pairs(self, metric: Metric) -> tuple[list[int], Pairs]:
        """The numbers of the rounds that all scenarios have, and their costs.

        In order of measuring: a round that a resumed comparison repeats comes last, so that the
        rounds of earlier analyses stay the same.
        """
        limit = self.criterion.limit
        pairs_of = limit.pairs if limit is not None else paired_by_round
        rounds = [pairs_of(record, self.revision, metric) for record in self.records]
        begun = _begun(self.records)
        shared = set(rounds[0]).intersection(*rounds[1:])
        numbers = sorted(shared, key=lambda number: (begun[number], number))
        pairs = tuple(tuple(scenario[number] for scenario in rounds) for number in numbers)
        return numbers, pairs if limit else tied(
            pairs, self.criterion.margin, self.criterion.allowance
        )


def _begun(records: Iterable[ScenarioResults]) -> dict[int, tuple[str, int]]:
    """Maps each round to a key that sorts by the start of its last run.

    Runs are recorded in order. Times order scenarios, and never go back, as a clock may.
    """
    begun: dict[int, tuple[str, int]] = {}
    for record in records:
        latest = ""
        for place, run in enumerate(record.measurements):
            latest = max(latest, run.started_at)
            begun[run.round] = max(begun.get(run.round, ("", 0)), (latest, place))
    return begun


def make_question(
    criterion: Criterion, label: str, records: Sequence[ScenarioResults], rule: Rule = RULE
) -> Judgement:
    first, *others = scenarios = tuple(record.scenario for record in records)
    group = {Scope.WAITING: "waiting ", Scope.WORKING: "working "}.get(criterion.scope, "")
    return Judgement(
        scenario=f"{len(records)} {group}scenarios together" if others else first,
        scenarios=scenarios,
        revision=label,
        metric=criterion.metric,
        criterion=criterion,
        records=tuple(records),
        rule=rule,
    )


def ask(
    records: Iterable[ScenarioResults], criteria: Sequence[Criterion], rule: Rule = RULE
) -> tuple[Judgement, ...]:
    """The unanswered questions of a comparison; those about each scenario last.

    Leaves out scenarios whose runs cannot have the metric, or that a revision cannot run.
    """
    known = tuple(records)
    labels = dict.fromkeys(label for record in known for label in record.context.labels)
    questions = [
        make_question(suited, label, group, rule)
        for label in labels
        for criterion in criteria
        for suited, group in _groups(criterion, label, known)
    ]
    return tuple(sorted(questions, key=lambda question: question.criterion.each))


def _groups(
    criterion: Criterion, label: str, known: Sequence[ScenarioResults]
) -> Iterator[tuple[Criterion, list[ScenarioResults]]]:
    """The criterion as it suits the scenarios, and the records of each question about it."""
    records = [record for record in known if _applies(criterion, record, label)]
    if criterion in DEFAULTS and len(records) == 1:
        if criterion.each:
            return  # the same as the question about all together
        if criterion.metric.unit == "second" and not criterion.metric.explains:
            margin = max(criterion.margin, _SINGLE_SCENARIO_MARGIN)
            criterion = structs.replace(criterion, margin=margin)
    if criterion in DEFAULTS and _are_few(criterion.metric, records):
        allowance = _ONE_TIMER.get(criterion.metric.name, criterion.allowance)
        criterion = structs.replace(criterion, allowance=allowance)
    key = criterion.metric.key
    have_it = [
        record
        for record in records
        if not record.measurements
        or any(key in {*run.metrics, *run.incomplete} for run in record.measurements)
    ]
    for group in ([record] for record in records) if criterion.each else (have_it or records,):
        if group:
            yield criterion, group


def _are_few(metric: Metric, records: Iterable[ScenarioResults]) -> bool:
    """Whether the usual run of the baseline has few of a count, but more than next to none."""
    baselines = [record.of(record.context.labels[0]) for record in records]
    values = (
        [run.metrics[metric.key] for run in runs if metric.key in run.metrics] for runs in baselines
    )
    return any(metric.resolution <= median(counts) < _FEW for counts in values if counts)


def _applies(criterion: Criterion, record: ScenarioResults, label: str) -> bool:
    baseline, *candidates = record.context.labels
    judged = candidates or ([baseline] if criterion.limit else [])
    keys = {metric.key for metric in record.metrics}
    # With a single item, the poke, the lateness at p99 is the median.
    is_twice = criterion in DEFAULTS and criterion.metric.name == "latency" and STOP.key in keys
    return (
        label in judged
        and record.unable.isdisjoint((baseline, label))
        and criterion.metric.key in keys
        and criterion.scope.holds(record.spec)
        and criterion.by_launcher in (None, record.by_launcher)
        and not is_twice
    )


def judge(question: Judgement, questions: Sequence[Judgement]) -> Judgement:
    """Answers one of a comparison's questions, at the latest interim analysis."""
    criterion, records, rule = question.criterion, question.records, question.rule
    cost = criterion.cost
    numbers, pairs = question.pairs(criterion.metric)
    baseline = () if criterion.limit else records[0].context.labels[:1]
    sides = (*baseline, question.revision)
    runs = [run for record in records for label in sides for run in record.of(label)]
    key = criterion.metric.key
    lacks = [(run.label, run.incomplete[key]) for run in runs if key in run.incomplete]
    unknown = [f"{label}: {lack.why}" for label, lack in lacks if lack.more_than is None]
    given_up = (record.why_given_up(label) for record in records for label in sides)
    why_given_up = next(filter(None, (*given_up, *unknown)), None)
    has_no_answer = bool(baseline) and both_missed(pairs)
    if has_no_answer:
        why_given_up = f"both revisions, in each of {len(numbers)} rounds: {lacks[-1][1].why}"
    rounds = ([{run.round for run in record.of(label)} for label in sides] for record in records)
    if not (why_given_up or numbers) and all(set.intersection(*by_side) for by_side in rounds):
        why_given_up = f"the runs do not have {criterion.metric.title}"
    verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
    result, cost_result = RuleResult(verdict=verdict, rounds=len(numbers)), None
    analysed = rule.latest_analysis(len(numbers))
    within = max((lack.more_than or 0.0 for _, lack in lacks), default=0.0)
    missed = Missed.count(pairs[: analysed or len(pairs)], within)
    if analysed:
        criteria = [it.criterion for it in questions]
        costs = [it for it in criteria if it.can_fail_by_outliers]
        alpha = rule.alpha_fail * _part(criterion, criteria, rule.first_question)
        # The signed-rank test and the sign test have half each, where that can suffice for a sign.
        if missed and baseline and 2.0**-missed.pairs <= alpha / 2:
            alpha /= 2
        if criterion.limit is not None:
            result = judge_limit(pairs[:analysed], rule, alpha=alpha)
        else:
            part = _part(criterion, costs, rule.first_of_outliers) if criterion in costs else 0.0
            result = judge_pairs(
                pairs[:analysed],
                rule,
                margin=criterion.margin,
                allowance=criterion.allowance,
                least=criterion.metric.resolution,
                alpha=alpha,
                alpha_outliers=rule.alpha_outliers * part,
            )
        if cost and len(cost_pairs := question.pairs(cost)[1]) >= analysed:
            # A fall in one scenario does not excuse a rise in another: no excess is allowed.
            cost_result = judge_pairs(
                cost_pairs[:analysed],
                rule,
                margin=-rule.offsetting_fall,
                least=cost.resolution,
                most_excess=1.0,
            )
            has_fallen = cost_result.verdict in _PASSES
            if result.verdict not in _PASSES and has_fallen and not _is_unresponsive(question):
                result = replace(result, verdict=Verdict.EXPLAINED)
        if missed:
            if baseline and missed.chance_of_so_many <= alpha:
                result = replace(result, verdict=Verdict.SLOWER)
            # Figures of censored values mean nothing.
            result = replace(result, ratio=None, means=None)
    counted = numbers[: result.rounds]
    disturbed = sum(len(record.disturbed_rounds.intersection(counted)) for record in records)
    judged = replace(
        question,
        **vars(result),
        cost_ratio=cost_result.ratio if cost_result else None,
        disturbed=round(disturbed / len(records)),
        why_given_up=why_given_up,
        missed=missed,
        why_not=not_within(missed.within) if missed else "",
        has_no_answer=has_no_answer,
    )
    if (unknown or has_no_answer) and judged.verdict is not Verdict.SLOWER:
        return replace(judged, verdict=Verdict.NOT_MEASURED)
    is_muted = judged.is_disturbed and judged.verdict in (*_PASSES, Verdict.EXPLAINED)
    return replace(judged, verdict=Verdict.INCONCLUSIVE) if is_muted else judged


def _is_unresponsive(question: Judgement) -> bool:
    """Whether the candidate leaves most pokes of a scenario unanswered, which excuses nothing."""
    by_scenario = (record.of(question.revision) for record in question.records)
    return any(sum(run.is_unanswered for run in runs) > len(runs) / 2 for runs in by_scenario)


def _part(criterion: Criterion, criteria: Sequence[Criterion], first_has: float) -> float:
    """The part of an error for a question, given the criteria of all questions.

    The first criterion, by default idle CPU, has the part ``first_has``; the others have equal
    parts of the rest. Candidates and scenarios with questions of their own divide the part of
    theirs.
    """
    first, *others = dict.fromkeys(criteria)
    part = first_has if others else 1.0
    if criterion != first:
        part = (1 - part) / len(others)
    return part / criteria.count(criterion)
