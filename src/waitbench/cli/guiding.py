"""Who tells the session which rounds the gate still wants; see ``execution.session.Guide``."""

from collections.abc import Iterable, Mapping

from waitbench.analysis import gate
from waitbench.analysis.judging import Judgement
from waitbench.analysis.sequential import FEWEST_ROUNDS
from waitbench.cli.gating import Gate
from waitbench.model.instruments import Instruments
from waitbench.model.record import Record

_ENOUGH = 3
"""First looks that must fit into the rounds for instruments to wait for the first."""


class GateGuide:
    """Wants more rounds of a scenario while any question about it could be settled by them."""

    def __init__(
        self,
        asked: Gate,
        records: Mapping[str, Record],
        instruments: Instruments,
        elsewhere: Iterable[Record] = (),
        *,
        sharing: int = 1,
    ) -> None:
        """Guides by the records of what is measured here; those of ``elsewhere`` need no runs.

        So many comparisons share the allowed error as ``sharing`` says.
        """
        self._sharing = sharing
        self._asked = asked
        self._records = tuple(records.values())
        self._elsewhere = tuple(elsewhere)
        self._instrumented = instruments.keys
        self._seen: object = None
        self._judgements: tuple[Judgement, ...] = ()
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

    def wants_instruments(self, scenario: str) -> bool:
        """Whether what only instrumented runs give would.

        Not before the first look, if there are rounds enough after it: an obvious change is known
        by then, and counts need fewer rounds than times.
        """
        self._judge()
        return self._may_begin(scenario) and any(
            scenario in judgement.scenarios and judgement.criterion.metric.key in self._instrumented
            for judgement in self._unsettled
        )

    def _may_begin(self, scenario: str) -> bool:
        if self._asked.most_rounds < _ENOUGH * FEWEST_ROUNDS:
            return True
        (record,) = (record for record in self._records if record.scenario == scenario)
        return any(len(record.of(label)) >= FEWEST_ROUNDS for label in record.context.labels)

    def is_over(self) -> bool:
        """Whether nothing more need be measured at all."""
        self._judge()
        has_failed = self._asked.fail_fast and any(map(gate.has_failed, self._judgements))
        return has_failed or gate.is_too_disturbed(self._records)

    def _judge(self) -> None:
        """Judges anew, if anything was measured since the last time."""
        seen = [(list(record.measurements), len(record.outcomes)) for record in self._records]
        if seen == self._seen:
            return
        self._judgements = gate.judge_all(
            self._records,
            self._asked.criteria,
            self._asked.most_rounds,
            self._elsewhere,
            sharing=self._sharing,
        )
        self._unsettled = gate.unsettled(self._judgements)
        self._seen = seen
