"""The questions of the gate, and the answer of the rule to each from the rounds so far.

A rise of a component, such as system time, fails unless the whole cost certainly fell by a tenth.
A candidate fails if it misses a time limit that the baseline keeps. If most rounds were disturbed,
it does not pass, but may fail, because processes that it leaves behind can be the disturbance.
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
from waitbench.model.metrics import SHARED, STOP, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.verdicts import Estimate, Verdict

_PASSES = (Verdict.WITHIN_MARGIN, Verdict.FASTER)
_SINGLE_SCENARIO_MARGIN = 0.15
"""The least margin for times of a single scenario: smaller rises need too many rounds."""
_FEW_EVENTS = 100
_ALLOWANCES_OF_RARE_EVENTS = {"wakeups": 2.0, "syscalls": 5.0}
"""Allowances for counts, if the baseline has fewer than ``_FEW_EVENTS`` in a run.

One more expiry of a timer, which some windows have, may then be a rise by more than 5 %."""


@dataclass(frozen=True, kw_only=True)
class Judgement(MetricResult):
    """A question, one criterion about one candidate in some scenarios, with its answer."""

    criterion: Criterion
    records: tuple[ScenarioResults, ...]
    rule: Rule = RULE
    is_partial: bool = False
    """Whether other machines measure some of its scenarios, so that the answer is preliminary."""
    verdict: Verdict = Verdict.INCONCLUSIVE
    judged: bool = True
    """As every row of a gate, it counts for the verdict."""
    cost_ratio: Estimate | None = None
    """The ratio of the whole cost, if the metric is a component of a cost."""
    disturbed: int = 0
    why_given_up: str | None = None
    """Why there will be no more rounds: runs fail, or lack the metric."""
    unconfirmed: tuple[str, ...] = ()
    """Scenarios for which an answer waits, as all of their runs were concurrent."""
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
        """The numbers of the rounds that all scenarios have, and the costs in these rounds.

        They are in order of measuring. So a round that a resumed comparison repeats comes last, and
        the rounds of earlier analyses stay the same.
        """
        limit = self.criterion.limit
        pairs_of = limit.pairs if limit is not None else paired_by_round
        rounds = [pairs_of(record, self.revision, metric) for record in self.records]
        order = _order_of_rounds(self.records)
        shared = set(rounds[0]).intersection(*rounds[1:])
        numbers = sorted(shared, key=lambda number: (order[number], number))
        pairs = tuple(tuple(scenario[number] for scenario in rounds) for number in numbers)
        return numbers, pairs if limit else tied(
            pairs, self.criterion.margin, self.criterion.allowance
        )


def _order_of_rounds(records: Iterable[ScenarioResults]) -> dict[int, tuple[str, int]]:
    """Maps each round to a key that sorts rounds by the start of their last run.

    The runs of a scenario are recorded in order. Runs of several scenarios are ordered by the
    latest start so far, as a clock may be set back.
    """
    order: dict[int, tuple[str, int]] = {}
    for record in records:
        latest = ""
        for place, run in enumerate(record.measurements):
            latest = max(latest, run.started_at)
            order[run.round] = max(order.get(run.round, ("", 0)), (latest, place))
    return order


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


def make_questions(
    records: Iterable[ScenarioResults], criteria: Sequence[Criterion], rule: Rule = RULE
) -> tuple[Judgement, ...]:
    """The unanswered questions of a comparison; questions about single scenarios come last.

    Leaves out scenarios whose runs cannot have the metric, or that a revision cannot run.
    """
    records = tuple(records)
    labels = dict.fromkeys(label for record in records for label in record.context.labels)
    questions = [
        make_question(adjusted, label, group, rule)
        for label in labels
        for criterion in criteria
        for adjusted, group in _groups(criterion, label, records)
    ]
    return tuple(sorted(questions, key=lambda question: question.criterion.each))


def _groups(
    criterion: Criterion, label: str, records: Sequence[ScenarioResults]
) -> Iterator[tuple[Criterion, list[ScenarioResults]]]:
    """The records of each question about a criterion, which is adjusted to them."""
    records = [record for record in records if _applies(criterion, record, label)]
    if criterion in DEFAULTS and len(records) == 1:
        if criterion.each:
            return  # The question about all scenarios together is the same.
        if criterion.metric.unit == "second" and not criterion.metric.explains:
            margin = max(criterion.margin, _SINGLE_SCENARIO_MARGIN)
            criterion = structs.replace(criterion, margin=margin)
    if criterion in DEFAULTS and _are_few(criterion.metric, records):
        allowance = _ALLOWANCES_OF_RARE_EVENTS.get(criterion.metric.name, criterion.allowance)
        criterion = structs.replace(criterion, allowance=allowance)
    key = criterion.metric.key
    with_metric = [
        record
        for record in records
        if not record.measurements
        or any(key in {*run.metrics, *run.incomplete} for run in record.measurements)
    ]
    for group in ([record] for record in records) if criterion.each else (with_metric or records,):
        if group:
            yield criterion, group


def _are_few(metric: Metric, records: Iterable[ScenarioResults]) -> bool:
    """Whether usual runs of the baseline have few of the events, but enough to compare."""
    baselines = [record.of(record.context.labels[0]) for record in records]
    values = (
        [run.metrics[metric.key] for run in runs if metric.key in run.metrics] for runs in baselines
    )
    return any(metric.resolution <= median(counts) < _FEW_EVENTS for counts in values if counts)


def _applies(criterion: Criterion, record: ScenarioResults, label: str) -> bool:
    baseline, *candidates = record.context.labels
    judged = candidates or ([baseline] if criterion.limit else [])
    keys = {metric.key for metric in record.metrics}
    # A worker of a worker file gets a single message, so its p99 of lateness is the median.
    is_duplicate = criterion in DEFAULTS and criterion.metric.name == "latency" and STOP.key in keys
    return (
        label in judged
        and record.unable.isdisjoint((baseline, label))
        and criterion.metric.key in keys
        and criterion.scope.covers(record.spec)
        and criterion.by_launcher in (None, record.by_launcher)
        and not is_duplicate
    )


def judge(question: Judgement, questions: Sequence[Judgement]) -> Judgement:
    """Answers one of a comparison's questions by the rounds of the latest interim analysis.

    The other questions share the allowed error with it.
    """
    criterion, records, rule = question.criterion, question.records, question.rule
    cost = criterion.cost
    numbers, pairs = question.pairs(criterion.metric)
    baseline = () if criterion.limit else records[0].context.labels[:1]
    labels = (*baseline, question.revision)
    runs = [run for record in records for label in labels for run in record.of(label)]
    key = criterion.metric.key
    lacks = [(run.label, run.incomplete[key]) for run in runs if key in run.incomplete]
    unknown = [f"{label}: {lack.why}" for label, lack in lacks if lack.more_than is None]
    given_up = (record.why_given_up(label) for record in records for label in labels)
    why_given_up = next(filter(None, (*given_up, *unknown)), None)
    has_no_answer = bool(baseline) and both_missed(pairs)
    if has_no_answer:
        why_given_up = f"both revisions, in each of {len(numbers)} rounds: {lacks[-1][1].why}"
    rounds = ([{run.round for run in record.of(label)} for label in labels] for record in records)
    if not (why_given_up or numbers) and all(set.intersection(*of_each) for of_each in rounds):
        why_given_up = f"the runs do not have {criterion.metric.title}"
    verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
    result, cost_result = RuleResult(verdict=verdict, rounds=len(numbers)), None
    analysed = rule.latest_analysis(len(numbers))
    time_limit_s = max((lack.more_than or 0.0 for _, lack in lacks), default=0.0)
    missed = Missed.count(pairs[: analysed or len(pairs)], time_limit_s)
    if analysed:
        criteria = [it.criterion for it in questions]
        costs = [it for it in criteria if it.can_fail_by_outliers]
        alpha = rule.alpha_fail * _part(criterion, criteria, rule.first_question)
        # The test of missed limits has half of alpha, if such a small error can prove anything.
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
            # The cost must fall in each scenario: a fall in one explains no rise in another.
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
            # Some values are only known to exceed the limit, so a ratio would be meaningless.
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
    return _without_doubt(judged)


def _without_doubt(answer: Judgement) -> Judgement:
    """Takes back an answer from disturbed rounds, or from concurrent runs that may collide.

    A rise is certain nevertheless, unless concurrent runs share what it is about.
    """
    is_rise = answer.verdict is Verdict.SLOWER
    if answer.verdict is Verdict.NOT_MEASURED or (is_rise and answer.metric.name not in SHARED):
        return answer
    unconfirmed = tuple(record.scenario for record in answer.records if record.may_collide)
    if unconfirmed or (answer.is_disturbed and not is_rise):
        return replace(answer, verdict=Verdict.INCONCLUSIVE, unconfirmed=unconfirmed)
    return answer


def _is_unresponsive(question: Judgement) -> bool:
    """Whether the candidate leaves most pokes of a scenario unanswered: no fall excuses that."""
    by_scenario = (record.of(question.revision) for record in question.records)
    return any(sum(run.is_unanswered for run in runs) > len(runs) / 2 for runs in by_scenario)


def _part(criterion: Criterion, criteria: Sequence[Criterion], first_has: float) -> float:
    """The part of an error for a question, given the criteria of all questions.

    The first criterion, by default idle CPU, has the part ``first_has``; the others have equal
    parts of the rest. Questions with the same criterion divide its part.
    """
    first, *others = dict.fromkeys(criteria)
    part = first_has if others else 1.0
    if criterion != first:
        part = (1 - part) / len(others)
    return part / criteria.count(criterion)
