"""Records and criteria -> questions; a question and the rounds so far -> its answer, by the rule.

What explains a cost fails only where that cost did not certainly fall by a tenth. Rounds most of
which other programs disturbed let nothing pass, but do not take back an alarm: a candidate that
leaves work behind disturbs the baseline's next run. A candidate that misses a time limit which the
baseline keeps fails by that: see ``analysis.censoring``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from waitbench.analysis import limits, rule
from waitbench.analysis.censoring import Missed, both_missed, tied
from waitbench.analysis.criteria import DEFAULTS, Criterion, Scope
from waitbench.analysis.rounds import mostly_disturbed, paired_by_round
from waitbench.analysis.rule import Finding, Pairs
from waitbench.model.acceptance import Acceptance
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import STOP, Metric
from waitbench.model.record import Record
from waitbench.model.verdicts import Verdict

PAYS = 0.1
"""The share by which a cost must certainly have fallen to excuse a rise of what explains it."""
_PASSES = (Verdict.WITHIN_MARGIN, Verdict.FASTER)
_OF_ONE = 0.15
"""The least margin of times of a single scenario: less cannot be told apart in minutes."""
_FEW = 100
_ONE_TIMER = {"wakeups": 2.0, "syscalls": 5.0}
"""The allowance of counts where the baseline has fewer than ``_FEW`` in a run. A timer wakes an
unchanged worker up once more in some windows than in others: more than 5 % where it seldom does."""


@dataclass(frozen=True, kw_only=True)
class Judgement(Finding):
    """One criterion, asked of one candidate in one scenario or several, and what is known of it.

    All pairs of several scenarios are one sample.
    """

    criterion: Criterion
    label: str
    records: tuple[Record, ...]
    """Those of the scenarios."""
    is_partial: bool = False
    """Whether it is about more scenarios, which are measured elsewhere, so that it only guides."""
    cost_ratio: Estimate | None = None
    """That of the cost which the criterion's metric explains, where it was measured and counts."""
    disturbed: int = 0
    """How many of its rounds count although other programs disturbed them: by the scenario."""
    why_given_up: str | None = None
    """Why there will be no more rounds of it, where runs fail, or do not have the metric."""
    missed: Missed | None = None
    """How often a time limit passed first, if it did."""
    has_no_answer: bool = False
    """Whether both sides miss it, so that nothing can be compared, however often it is tried."""
    accepted: Acceptance | None = None
    """Why its rise is no failure, where the project accepts it for a time."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(record.scenario for record in self.records)

    @property
    def place(self) -> str:
        """Where it is asked, for people."""
        first, *others = self.scenarios
        group = {Scope.WAITING: "waiting ", Scope.WORKING: "working "}.get(self.criterion.scope, "")
        return f"{len(self.records)} {group}scenarios together" if others else first

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and self.accepted is None

    @property
    def is_disturbed(self) -> bool:
        """Whether most of its rounds are so, which lets nothing pass."""
        return mostly_disturbed(self.disturbed, self.rounds)

    @property
    def settled(self) -> bool:
        """Whether more rounds would change nothing that matters."""
        has_ended = self.why_given_up is not None or self.rounds >= rule.LOOKS[-1]
        return has_ended or self.verdict is not Verdict.INCONCLUSIVE

    def pairs(self, metric: Metric) -> tuple[list[int], Pairs]:
        """The rounds that all scenarios have, and their costs.

        In the order in which they were measured: a round that is made again when a comparison is
        resumed comes last, so that what was looked at stays as it was.
        """
        limit = self.criterion.limit
        pairs_of = limit.pairs if limit is not None else paired_by_round
        found = [pairs_of(one, self.label, metric) for one in self.records]
        runs = (run for record in self.records for run in record.measurements)
        begun = {run.round: run.started_at for run in sorted(runs, key=lambda run: run.started_at)}
        shared = set(found[0]).intersection(*found[1:])
        numbers = sorted(shared, key=lambda number: (begun[number], number))
        pairs = tuple(tuple(of[number] for of in found) for number in numbers)
        asked = self.criterion
        return numbers, pairs if limit else tied(pairs, asked.margin, asked.floor)


def ask(records: Iterable[Record], criteria: Sequence[Criterion]) -> tuple[Judgement, ...]:
    """Every question of a comparison, without an answer; those about each scenario last.

    Nothing is asked of a scenario whose runs cannot have the metric, or that a revision cannot run.
    """
    known = tuple(records)
    labels = dict.fromkeys(label for one in known for label in one.context.labels)
    each = ((label, criterion) for label in labels for criterion in criteria)
    asked = [one for label, criterion in each for one in _questions(criterion, label, known)]
    return tuple(sorted(asked, key=lambda one: one.criterion.each))


def _questions(criterion: Criterion, label: str, known: Sequence[Record]) -> Iterator[Judgement]:
    about = [one for one in known if _is_about(criterion, one, label)]
    if criterion in DEFAULTS and len(about) == 1:
        if criterion.each:
            return  # of a single scenario it is asked already
        if criterion.metric.unit == "second" and not criterion.metric.explains:
            criterion = replace(criterion, margin=max(criterion.margin, _OF_ONE))
    if criterion in DEFAULTS and _are_few(criterion.metric, about):
        criterion = replace(criterion, floor=_ONE_TIMER.get(criterion.metric.name, criterion.floor))
    key = criterion.metric.key
    lacking = [
        one.scenario
        for one in about
        if one.measurements
        and not any(key in {*run.metrics, *run.incomplete} for run in one.measurements)
    ]
    together = [one for one in about if one.scenario not in lacking] or about
    for records in ([one] for one in about) if criterion.each else (together,):
        if records:
            yield Judgement(criterion=criterion, label=label, records=tuple(records))


def _are_few(metric: Metric, records: Iterable[Record]) -> bool:
    """Whether the usual run of the baseline has few of a count, but more than next to none."""
    baselines = [record.of(record.context.labels[0]) for record in records]
    values = (
        [run.metrics[metric.key] for run in of if metric.key in run.metrics] for of in baselines
    )
    return any(metric.resolution <= median(counts) < _FEW for counts in values if counts)


def _is_about(criterion: Criterion, record: Record, label: str) -> bool:
    baseline, *candidates = record.context.labels
    judged = candidates or ([baseline] if criterion.limit else [])
    keys = {metric.key for metric in record.metrics}
    # What is told to end has had one item, the poke: its lateness at p99 is its median.
    is_twice = criterion in DEFAULTS and criterion.metric.name == "latency" and STOP.key in keys
    return (
        label in judged
        and record.unable.isdisjoint((baseline, label))
        and criterion.metric.key in keys
        and criterion.scope.holds(record)
        and criterion.by_launcher in (None, record.by_launcher)
        and not is_twice
    )


def judge(question: Judgement, asked: Sequence[Judgement]) -> Judgement:
    """Answers one of a comparison's questions, as of the latest look."""
    criterion, cost, records = question.criterion, question.criterion.cost, question.records
    numbers, pairs = question.pairs(criterion.metric)
    baseline = () if criterion.limit else records[0].context.labels[:1]
    sides = (*baseline, question.label)
    runs = [run for one in records for label in sides for run in one.of(label)]
    key = criterion.metric.key
    lacks = [(run.label, run.incomplete[key]) for run in runs if key in run.incomplete]
    unknown = [f"{label}: {lack.why}" for label, lack in lacks if lack.more_than is None]
    given_up = (one.why_given_up(label) for one in records for label in sides)
    why_given_up = next(filter(None, (*given_up, *unknown)), None)
    has_no_answer = bool(baseline) and both_missed(pairs)
    if has_no_answer:
        why_given_up = f"both revisions, in each of {len(numbers)} rounds: {lacks[-1][1].why}"
    rounds = ([{run.round for run in one.of(label)} for label in sides] for one in records)
    if not (why_given_up or numbers) and all(set.intersection(*of) for of in rounds):
        why_given_up = f"the runs do not have {criterion.metric.title}"
    verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
    found, of_cost = Finding(verdict=verdict, rounds=len(numbers)), None
    look = rule.latest_look(len(numbers))
    within = max((lack.more_than or 0.0 for _, lack in lacks), default=0.0)
    missed = Missed.of(pairs[: look or len(pairs)], within)
    if look:
        criteria = [one.criterion for one in asked]
        costs = [one for one in criteria if one.can_fail_by_dear_runs]
        alarm = rule.ALARM * _part(criterion, criteria)
        # Where the test by signs is made as well, each has half.
        alarm /= 2 if missed and baseline else 1
        if criterion.limit is not None:
            found = limits.judge(pairs[:look], alarm=alarm)
        else:
            found = rule.judge(
                pairs[:look],
                margin=criterion.margin,
                floor=criterion.floor,
                least=criterion.metric.resolution,
                alarm=alarm,
                dear_alarm=rule.ALPHA_DEAR * _part(criterion, costs) if criterion in costs else 0.0,
            )
        if cost and len(explained := question.pairs(cost)[1]) >= look:
            # What fell in one scenario pays for no rise in another.
            of_cost = rule.judge(explained[:look], margin=-PAYS, least=cost.resolution, beyond=1.0)
            has_fallen = of_cost.verdict in _PASSES
            if found.verdict not in _PASSES and has_fallen and not _is_deaf(question):
                found = replace(found, verdict=Verdict.EXPLAINED)
        if missed:
            has_failed = bool(baseline) and missed.chance <= alarm
            verdict = Verdict.SLOWER if has_failed else found.verdict
            # No figure of these is one.
            found = replace(found, verdict=verdict, ratio=None, means=None)
    counted = numbers[: found.rounds]
    disturbed = sum(len(one.disturbed_rounds.intersection(counted)) for one in records)
    judged = replace(
        question,
        **vars(found),
        cost_ratio=of_cost.ratio if of_cost else None,
        disturbed=round(disturbed / len(records)),
        why_given_up=why_given_up,
        missed=missed,
        has_no_answer=has_no_answer,
    )
    if (unknown or has_no_answer) and judged.verdict is not Verdict.SLOWER:
        return replace(judged, verdict=Verdict.NOT_MEASURED)
    is_muted = judged.is_disturbed and judged.verdict in (*_PASSES, Verdict.EXPLAINED)
    return replace(judged, verdict=Verdict.INCONCLUSIVE) if is_muted else judged


def _is_deaf(question: Judgement) -> bool:
    """Whether the candidate mostly does not answer somewhere: nothing is cheaper by that."""
    of_each = [one.of(question.label) for one in question.records]
    deaf = [sum(run.is_unanswered for run in runs) for runs in of_each]
    return any(count > len(runs) / 2 for count, runs in zip(deaf, of_each, strict=True))


def _part(criterion: Criterion, asked: Sequence[Criterion]) -> float:
    """The part of an error that a question has, among those with these criteria.

    The first criterion has a half, by default what waiting costs; the others have equal parts of
    the rest. Candidates, and the scenarios of a criterion that is asked of each, divide theirs.
    """
    first, *others = dict.fromkeys(asked)
    of_others = 2 if criterion == first else 2 * len(others)
    return 1 / asked.count(criterion) / (of_others if others else 1)
