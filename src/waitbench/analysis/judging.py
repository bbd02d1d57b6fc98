"""Makes the questions of the gate, and answers each by the rounds so far.

A rise of a component, such as system time, fails unless the whole cost certainly fell by a tenth,
or seems to have fallen while too few rounds can show that.
A candidate fails if it exceeds a time limit that the baseline keeps. If most rounds were disturbed,
it cannot pass. It can fail, because processes that it left behind may be the disturbance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from msgspec import structs

from waitbench.analysis.criteria import DEFAULTS, Criterion, Scope
from waitbench.analysis.results import MetricResult
from waitbench.analysis.rounds import by_round, having, is_confirmed, mostly_disturbed
from waitbench.analysis.rule import (
    RULE,
    MissedLimits,
    Pairs,
    Rule,
    RuleResult,
    is_always_missed,
    judge_limit,
    judge_pairs,
    not_within,
)
from waitbench.model.metrics import CHANGED_BY_SHARING, OTHER_CPU, STOP, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.scenario import LAUNCHER, RATE
from waitbench.model.verdicts import PASSING, Estimate, Verdict

_SINGLE_SCENARIO_MARGIN = 0.15
"""The least margin for times of a single scenario: smaller rises need too many rounds."""
_ALLOWANCES = {20: {"wakeups": 2.0, "syscalls": 5.0}, 100: {"wakeups": 5.0, "syscalls": 5.0}}
"""Allowances for counts, by metric, if the baseline has fewer events in a run than the key.

The number of timers that expire in a window varies by chance, then by more than 5 %."""
_SMALL_IDLE_S, _SMALL_IDLE_MARGIN = 2e-3, 0.25
"""The least margin of a single scenario below this idle CPU, as equal workers differ by more."""
_FEWEST_MESSAGES = 100
"""With fewer in a window, p99 of their lateness is not asked about by default."""
_DOUBLED = {"time_cpu_idle": 1e-3, "wakeups": 3.0}
"""Costs that a warm-up shows have doubled if they exceed twice the baseline's by this."""
_LEAST_GROWTH = 1.5
"""A question that stays open is next to pass with so many times the rounds: of concurrent rounds,
which last as long as one, fewer would change little."""


@dataclass(frozen=True, kw_only=True)
class Judgement(MetricResult):
    """A question, one criterion about one candidate in some scenarios, with its answer."""

    criterion: Criterion
    records: tuple[ScenarioResults, ...]
    """The runs of each scenario."""
    rule: Rule = RULE
    alpha: float = 0.0
    """The error of failing by the signed-rank test, at one analysis."""
    is_partial: bool = False
    """Whether other machines measure some of its scenarios, so that the answer is preliminary."""
    verdict: Verdict = Verdict.INCONCLUSIVE
    judged: bool = True
    cost_ratio: Estimate | None = None
    """The ratio of the whole cost, if the metric is a component of a cost."""
    disturbed: float = 0.0
    """The number of disturbed rounds, averaged over scenarios."""
    why_given_up: str | None = None
    """Why there will be no more rounds: runs fail, or lack the metric."""
    is_always_missed: bool = False
    """Whether both sides always exceed the time limit, so that more rounds would not help."""
    awaits_turn: bool = False
    """Whether one round in turns is needed, as copies of a worker may have changed its costs."""

    @property
    def is_disturbed(self) -> bool:
        return mostly_disturbed(self.disturbed, self.rounds)

    @property
    def is_settled(self) -> bool:
        """Whether more rounds cannot change the answer, or are not made."""
        has_ended = self.why_given_up is not None or self.rounds >= self.rule.analyses[-1]
        return has_ended or self.verdict is not Verdict.INCONCLUSIVE

    @property
    def rounds_needed(self) -> int:
        """The number of further rounds until an analysis may settle the question.

        That is one at which it can fail if that is likely, or else can pass.
        """
        if self.awaits_turn:
            return 1
        rule, count, rounds = self.rule, len(self.records), len(self.pairs(self.metric)[0])
        if self.may_soon_fail:
            analyses, least = rule.failing_analyses(count, self.alpha), 0.0
        else:
            analyses = rule.passing_analyses(count, self.criterion.margin)
            least = _LEAST_GROWTH * rule.latest_analysis(rounds)
        following = (it for it in analyses if it > rounds and it >= least)
        return next(following, rule.analyses[-1]) - rounds

    @property
    def may_soon_fail(self) -> bool:
        """Whether half of the pairs, or before any a warm-up, cost more than is allowed."""
        pairs = self.pairs(self.metric)[1]
        if pairs:
            excesses = [self.criterion.is_exceeded(*pair) for row in pairs for pair in row]
            return 2 * sum(excesses) >= len(excesses)
        warm_ups = replace(self, records=tuple(it.of_warm_ups for it in self.records))
        return self.metric.key in _DOUBLED and any(
            after > 2 * before + _DOUBLED[self.metric.key]
            for row in warm_ups.pairs(self.metric)[1]
            for before, after in row
        )

    @property
    def sides(self) -> tuple[str, ...]:
        """The revisions whose runs are judged: with a limit, the baseline's are not."""
        baseline = () if self.criterion.limit else self.records[0].context.labels[:1]
        return (*baseline, self.revision)

    def pairs(self, metric: Metric) -> tuple[list[int], Pairs]:
        """The numbers of the rounds that all scenarios have, and the costs in these rounds.

        With a limit, the limit stands in place of the baseline's cost. Rounds are in order of
        measuring: one that a resumed comparison repeats comes last, and the rounds of earlier
        analyses stay the same.
        """
        limit = self.criterion.limit
        rounds: list[Mapping[int, tuple[float, ...]]] = [
            limit.pairs(record, self.revision, metric)
            if limit
            else by_round([(record, side) for side in self.sides], metric, with_censored=True)
            for record in self.records
        ]
        order = _order_of_rounds(self.records)
        shared = set(rounds[0]).intersection(*rounds[1:])
        numbers = sorted(shared, key=lambda number: (order[number], number))
        return numbers, tuple(tuple(costs[number] for costs in rounds) for number in numbers)


def _order_of_rounds(records: Iterable[ScenarioResults]) -> dict[int, tuple[str, int]]:
    """Maps each round to a key that sorts rounds by the start of their last run.

    A clock may be set back. So the runs of a scenario have the order of their records, and those of
    several scenarios the order of the latest start up to each run.
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
    """Makes an unanswered question about a revision, in the scenarios of the records."""
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
    """Yields the records of each question that a criterion asks about a revision.

    Each group comes with the criterion, whose default margin or allowance may be raised for it.
    """
    records = [record for record in records if _applies(criterion, record, label)]
    usual = _usual(criterion.metric, records)
    if criterion in DEFAULTS and len(records) == 1:
        if criterion.each:
            return  # Another default criterion asks the same about all scenarios together.
        if criterion.metric.unit == "second" and not criterion.metric.explains:
            margin = max(criterion.margin, _SINGLE_SCENARIO_MARGIN)
            if criterion.metric.name == "idle" and usual and usual[0] < _SMALL_IDLE_S:
                margin = max(margin, _SMALL_IDLE_MARGIN)
            criterion = structs.replace(criterion, margin=margin)
    few_events = [it for it in usual if criterion.metric.resolution <= it < max(_ALLOWANCES)]
    if criterion in DEFAULTS and few_events:
        allowances = next(it for most, it in _ALLOWANCES.items() if min(few_events) < most)
        allowance = allowances.get(criterion.metric.name, criterion.allowance)
        criterion = structs.replace(criterion, allowance=allowance)
    pooled = having(criterion.metric, records)
    for group in ([record] for record in records) if criterion.each else (pooled,):
        if group:
            yield criterion, group


def _usual(metric: Metric, records: Iterable[ScenarioResults]) -> list[float]:
    """Returns the baseline's median in each scenario that has the metric."""
    baselines = (record.of(record.context.labels[0]) for record in records)
    key = metric.key
    values = ([run.metrics[key] for run in runs if key in run.metrics] for runs in baselines)
    return [median(costs) for costs in values if costs]


def _applies(criterion: Criterion, record: ScenarioResults, label: str) -> bool:
    """Whether a criterion asks about a revision in a scenario."""
    baseline, *candidates = record.context.labels
    judged = candidates or ([baseline] if criterion.limit else [])
    keys = {metric.key for metric in record.metrics}
    rate, window_s = (float(record.spec.parameters.get(name, 0)) for name in (RATE, "window"))
    # A worker of a worker file gets one message, or some at a rate: p99 of a few is their maximum.
    is_of_few = STOP.key in keys and rate * window_s < _FEWEST_MESSAGES
    return (
        label in judged
        and record.unable.isdisjoint((label,) if criterion.limit else (baseline, label))
        and criterion.metric.key in keys
        and criterion.scope.covers(record.spec)
        and criterion.by_launcher in (None, record.topology.kind == LAUNCHER)
        and not (criterion in DEFAULTS and criterion.metric.name == "latency" and is_of_few)
    )


def judge(question: Judgement, questions: Sequence[Judgement]) -> Judgement:
    """Answers a question by the rounds of the latest interim analysis.

    ``questions`` are all questions of the comparison, over which the allowed error is divided.
    """
    criterion, records, rule = question.criterion, question.records, question.rule
    criteria = [it.criterion for it in questions]
    alpha = rule.alpha_fail * _share_of_error(criterion, criteria, rule.first_question)
    question = replace(question, alpha=alpha)
    numbers, pairs = question.pairs(criterion.metric)
    runs = [run for record in records for label in question.sides for run in record.of(label)]
    key = criterion.metric.key
    lacks = [(run.label, run.incomplete[key]) for run in runs if key in run.incomplete]
    unknown = [f"{label}: {lack.why}" for label, lack in lacks if lack.more_than is None]
    time_limit_s = max((lack.more_than or 0.0 for _, lack in lacks), default=0.0)
    why_given_up = _why_given_up(question, unknown, has_rounds=bool(numbers))
    always_missed = criterion.limit is None and is_always_missed(pairs)
    if always_missed:
        why_given_up = f"both revisions, in each of {len(numbers)} rounds: {lacks[-1][1].why}"
    verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
    result, cost_ratio = RuleResult(verdict=verdict, rounds=len(numbers)), None
    analysed = rule.latest_analysis(len(numbers))
    missed = MissedLimits.in_pairs(pairs[: analysed or len(pairs)], time_limit_s)
    if analysed:
        result, cost_ratio = _apply_rule(question, criteria, pairs[:analysed], missed)
    if missed:
        # Some values are only known to exceed the limit, so a ratio would be meaningless.
        result = replace(result, ratio=None, mean_ratio=None)
    counted = numbers[: result.rounds]
    disturbed = sum(len(record.disturbed_rounds.intersection(counted)) for record in records)
    judged = replace(
        question,
        **vars(result),
        cost_ratio=cost_ratio,
        disturbed=disturbed / len(records),
        why_given_up=why_given_up,
        missed=missed,
        why_not=not_within(missed.within) if missed else "",
        is_always_missed=always_missed,
    )
    if (unknown or always_missed) and judged.verdict is not Verdict.SLOWER:
        return replace(judged, verdict=Verdict.NOT_MEASURED)
    has_answer = judged.verdict not in (Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED)
    if has_answer and _awaits_turn(question):
        return replace(judged, verdict=Verdict.INCONCLUSIVE, awaits_turn=True)
    if judged.is_disturbed and judged.verdict not in (Verdict.SLOWER, Verdict.NOT_MEASURED):
        return replace(judged, verdict=Verdict.INCONCLUSIVE)
    return judged


def _awaits_turn(question: Judgement) -> bool:
    """Whether copies of a worker may have changed a metric in all rounds of a worker file."""
    return question.metric.name in CHANGED_BY_SHARING and any(
        not is_confirmed(record, question.revision, question.criterion)
        for record in question.records
        # Without runs of the baseline, runs take turns.
        if record.rounds
        and STOP in record.metrics
        and record.context.labels[0] not in record.unable
    )


def _why_given_up(question: Judgement, unknown: Sequence[str], *, has_rounds: bool) -> str | None:
    """Why a question gets no more rounds; ``None`` if it does.

    ``unknown`` has the reasons for unknown values. ``has_rounds``: some rounds have the metric.
    """
    records, labels = question.records, question.sides
    given_up = (record.why_given_up(label) for record in records for label in labels)
    rounds = ([{run.round for run in record.of(label)} for label in labels] for record in records)
    is_measured = all(set.intersection(*of_each) for of_each in rounds)
    # Concurrent runs lack it if others used much beside them; then runs take turns.
    awaits_turn = question.metric.key == OTHER_CPU and not all(
        it.interleaved_rounds for it in records
    )
    lacks_metric = is_measured and not has_rounds and not awaits_turn
    lacking = [f"the runs do not have {question.metric.title}"] if lacks_metric else []
    return next(filter(None, (*given_up, *unknown, *lacking)), None)


def _apply_rule(
    question: Judgement, criteria: Sequence[Criterion], pairs: Pairs, missed: MissedLimits | None
) -> tuple[RuleResult, Estimate | None]:
    """Judges the pairs of an analysis, with those that missed a time limit.

    Returns also the ratio of the cost of which the metric is a component, if it is one.
    """
    criterion, rule, alpha = question.criterion, question.rule, question.alpha
    if criterion.limit is not None:
        return judge_limit(pairs, rule, alpha=alpha), None
    # The sign test of missed limits has half of alpha, if it can fail with so small an error.
    if missed and 2.0**-missed.pairs <= alpha / 2:
        alpha /= 2
    costs = [it for it in criteria if it.can_fail_by_outliers]
    share = _share_of_error(criterion, costs, rule.first_of_outliers) if criterion in costs else 0.0
    result = judge_pairs(
        pairs,
        rule,
        margin=criterion.margin,
        allowance=criterion.allowance,
        least=criterion.metric.resolution,
        alpha=alpha,
        alpha_outliers=rule.alpha_outliers * share,
    )
    cost_ratio = None
    cost_pairs = question.pairs(criterion.cost)[1] if criterion.cost else ()
    if criterion.cost and len(cost_pairs) >= len(pairs):
        # The cost must fall in each scenario: a fall in one explains no rise in another.
        cost_result = judge_pairs(
            cost_pairs[: len(pairs)],
            structs.replace(rule, most_excess=1.0),
            margin=-rule.offsetting_fall,
            least=criterion.cost.resolution,
            alpha=rule.alpha_fail,
        )
        cost_ratio = cost_result.ratio
        explanation = Verdict.EXPLAINED if cost_result.verdict in PASSING else None
        first = min(rule.passing_analyses(len(question.records), 0.0), default=0)
        fell = cost_ratio is not None and cost_ratio.value < 1 - rule.offsetting_fall
        if fell and not explanation and len(pairs) < first:
            # So few rounds cannot show that it fell.
            explanation = Verdict.INCONCLUSIVE
        if explanation and result.verdict not in PASSING and not _is_unresponsive(question):
            result = replace(result, verdict=explanation)
    if missed and missed.p_value_of_rise <= alpha:
        result = replace(result, verdict=Verdict.SLOWER)
    return result, cost_ratio


def _is_unresponsive(question: Judgement) -> bool:
    """Whether the candidate leaves most pokes of a scenario unanswered, which may save CPU."""
    by_scenario = (record.of(question.revision) for record in question.records)
    return any(sum(run.is_unanswered for run in runs) > len(runs) / 2 for runs in by_scenario)


def _share_of_error(criterion: Criterion, criteria: Sequence[Criterion], first: float) -> float:
    """The share of an error for a question, given the criteria of all questions.

    ``first`` is the share of the first criterion; the others have equal shares of the rest.
    Questions with the same criterion divide its share.
    """
    first_criterion, *others = dict.fromkeys(criteria)
    share = first if others else 1.0
    if criterion != first_criterion:
        share = (1 - share) / len(others)
    return share / criteria.count(criterion)
