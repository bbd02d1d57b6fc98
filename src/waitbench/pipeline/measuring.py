"""Which rounds a gate still wants, and what becomes of each run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from waitbench.analysis import gate as judging
from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.judging import Judgement
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.metrics import MEMORY, SYSTEM_CALLS
from waitbench.model.record import Record
from waitbench.model.run import Result
from waitbench.model.scenario import Scenario
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.gating import Gate
from waitbench.reporting.progress import RunProgress
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.system import endings

_BY_THEN = frozenset({MEMORY.key, "time_startup", "time_cpu_startup", "processes_replaced"})
"""The keys of what else is known when the window is over."""


def counts_calls(gate: Gate) -> bool:
    """Whether to count system calls, which costs workers CPU: where no gate asks something else."""
    keys = {criterion.metric.key for criterion in gate.criteria}
    return not keys or SYSTEM_CALLS in keys


def wakes_up(gate: Gate) -> bool:
    """Whether to wake workers up after the window: where no gate asks of that and before alone.

    A worker that does not answer takes all of its time limit.
    """
    return not gate.criteria or not all(
        one.metric.is_of_window or one.metric.is_of_services or one.metric.key in _BY_THEN
        for one in gate.criteria
    )


def side_by_side(
    scenarios: Iterable[Scenario], records: Mapping[str, Record], criteria: Iterable[Criterion]
) -> frozenset[str]:
    """The scenarios of which revisions may run at once: those that idle.

    But not where a criterion of the user's asks what else the machine did: nobody knows for which
    revision. What the default one allows is known beside all (``execution.session``). Nor where
    anything but a number has a limit: copies share pages, and find caches warm.
    """
    alone = [
        one
        for one in criteria
        if (one.metric.key.startswith("machine_") and one not in DEFAULTS)
        or (one.metric.unit != "count" and one.limit is not None)
    ]
    return frozenset(
        one.name
        for one in scenarios
        if one.idles and not any(asked.scope.holds(records[one.name]) for asked in alone)
    )


class GateGuide:
    """Wants more rounds of a scenario while any question about it could be settled by them."""

    def __init__(
        self,
        asked: Gate,
        records: Mapping[str, Record],
        elsewhere: Iterable[Record] = (),
    ) -> None:
        """Guides by the records of what is measured here; those of ``elsewhere`` need no runs."""
        self._asked = asked
        self._records = tuple(records.values())
        self._elsewhere = tuple(elsewhere)
        self._seen: object = None
        self._unsettled: tuple[Judgement, ...] = ()

    def wants_more(self, scenario: str) -> bool:
        """Whether more rounds of a scenario would change anything that matters.

        So does a round in which a run failed in an earlier session.
        """
        self._judge()
        (record,) = (record for record in self._records if record.scenario == scenario)
        if any(number <= self._asked.most_rounds for number in record.awaits_repeats):
            return True
        return any(scenario in judgement.scenarios for judgement in self._unsettled)

    def is_over(self) -> bool:
        """Whether nothing more need be measured at all."""
        self._judge()
        return judging.is_too_disturbed(self._records)

    def _judge(self) -> None:
        """Judges anew, if anything was measured since the last time."""
        seen = [(list(record.measurements), len(record.outcomes)) for record in self._records]
        if seen == self._seen:
            return
        judgements = judging.judge_all(
            self._records,
            self._asked.criteria,
            self._elsewhere,
            acceptances=self._asked.acceptances,
        )
        self._unsettled = judging.unsettled(judgements)
        self._seen = seen


class RunRecorder(RunProgress):
    """Shows the runs of a comparison as they end, and keeps them; see ``session.Observer``."""

    def __init__(self, contents: Contents, output: Output) -> None:
        super().__init__(output.progress, quiet=output.quiet)
        self._contents = contents

    @contextmanager
    def session(
        self,
        measurer: Measurer,
        idle: frozenset[str] = frozenset(),
        differing: Callable[[Record], str] = lambda _record: "",
    ) -> Iterator[Session]:
        """A session that adds to the comparison, which is finished after the block.

        In scenarios that are ``idle`` revisions may run at once; see ``Session.differing``. What
        leaves the block by an exception stays unfinished, and can be resumed.
        """
        folder, records = self._contents.folder, self._contents.records
        try:
            with self:
                by_name = {one.scenario: one for one in records}
                yield Session(measurer, by_name, self, idle, differing)
        except endings.Ended:
            comparisons.export(folder, records)
            raise
        comparisons.finish(folder, records)

    def keep(self, record: Record, result: Result) -> None:
        """A result belongs to the record now."""
        comparisons.append(self._contents.folder, record, result)
