"""The gate: what it is asked, and what of that this machine can answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec

from waitbench.analysis import gate, rule
from waitbench.analysis.criteria import DEFAULTS, Criterion, Scope
from waitbench.analysis.gate import GateVerdict
from waitbench.engines import METRICS
from waitbench.engines.worker.metrics import metrics_of
from waitbench.model.acceptance import Acceptance
from waitbench.model.errors import UsageError
from waitbench.model.metrics import INSTRUMENTED, Instruments, Metric
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.model.worker import WorkerFile
from waitbench.pipeline.criteria import LIMIT, parse
from waitbench.system import files
from waitbench.system.installation import called


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What the gate is to do."""

    criteria: tuple[Criterion, ...] = ()
    """None where there is no gate."""
    most_rounds: int = rule.LOOKS[0]
    """Those of the last look: see ``last_look``."""
    budget_s: float = math.inf
    inconclusive_passes: bool = False
    """Whether an inconclusive comparison ends with the exit code of a pass."""
    left_out: tuple[str, ...] = ()
    """Sentences about default criteria that this machine, or no scenario, can measure."""
    acceptances: tuple[Acceptance, ...] = ()
    """The regressions that the project accepts for a time."""

    @property
    def is_on(self) -> bool:
        return bool(self.criteria)

    @property
    def needs(self) -> frozenset[str]:
        """The keys of what criteria of the user's own are about: it must be measured."""
        return frozenset(c.metric.key for c in self.criteria if c not in DEFAULTS)

    def supported_by(self, instruments: Instruments, scenarios: Sequence[Scenario]) -> "Gate":
        """The gate of a machine and of scenarios: without the defaults that these do not give."""
        lacking = {}
        for criterion in self.criteria:
            if criterion not in DEFAULTS:
                continue
            if criterion.metric.key in INSTRUMENTED - instruments.keys:
                lacking[criterion] = (
                    f"{criterion}: not measured here: {instruments.reason}; {called('doctor')} "
                    "says how to fix it."
                )
            remedies = [one.lacks.get(criterion.metric.key) for one in scenarios]
            if remedies and all(remedies):
                lacking[criterion] = f"{criterion}: not measured here: {remedies[0]}."
        return replace(
            self,
            criteria=tuple(criterion for criterion in self.criteria if criterion not in lacking),
            left_out=tuple(lacking.values()),
        )

    def groups(self, scenarios: Sequence[Scenario]) -> list[Sequence[Scenario]]:
        """The scenarios in the order in which they are measured, those that take turns together.

        What mostly waits comes first: there most regressions show soonest, and little more is
        measured of who has failed. What is judged together is measured together.
        """
        if any(one.scope is Scope.EVERY and not one.each for one in self.criteria):
            return [scenarios]
        order = (Scope.WAITING, Scope.LARGE_CHANGES, Scope.WORKING)
        groups = ([one for one in scenarios if scope.holds(one)] for scope in order)
        return [group for group in groups if group]

    def as_settings(self) -> dict[str, object]:
        """What it is to do, for the result files."""
        return {
            "criteria": [
                {
                    "criterion": str(criterion),
                    "scenarios": criterion.scope.value,
                    "by_launcher": criterion.by_launcher,
                }
                for criterion in self.criteria
            ],
            "left_out": list(self.left_out),
            "accepted": [asdict(one) for one in self.acceptances],
            "max_rounds": self.most_rounds,
            "budget_s": self.budget_s,
            "inconclusive": "pass" if self.inconclusive_passes else "error",
        }

    @classmethod
    def read_settings(
        cls, settings: Mapping[str, Any], scenarios: Iterable[Scenario | Record] = ()
    ) -> "Gate":
        """The gate of a comparison with these settings, for a verdict on what it measured.

        Of what that was come the metrics that it alone has. Raises ``UsageError`` where the
        settings are not of this version.
        """
        found = settings.get("gate")
        if found is None:
            return NO_GATE
        known = dict.fromkeys((*METRICS, *(m for one in scenarios for m in one.metrics)))
        try:
            return cls(
                criteria=tuple(
                    replace(
                        *parse([one["criterion"]], tuple(known)),
                        scope=Scope(one["scenarios"]),
                        by_launcher=one.get("by_launcher"),
                    )
                    for one in found["criteria"]
                ),
                most_rounds=last_look(int(found["max_rounds"])),
                inconclusive_passes=found["inconclusive"] == "pass",
                left_out=tuple(map(str, found["left_out"])),
                acceptances=tuple(Acceptance(**one) for one in found["accepted"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"The settings of the gate cannot be read ({error!r}).") from error

    def conclude(self, records: Iterable[Record]) -> GateVerdict:
        """Judges everything that was measured."""
        return gate.conclude(
            records,
            self.criteria,
            inconclusive_passes=self.inconclusive_passes,
            left_out=self.left_out,
            acceptances=self.acceptances,
        )


NO_GATE = Gate()


def metrics_known(worker: WorkerFile | None) -> tuple[Metric, ...]:
    """What may be asked of a comparison: of a worker file, what its runs give, too."""
    own = () if worker is None else metrics_of(worker)
    return tuple(dict.fromkeys((*METRICS, *own)))


def limits_in(
    worker: WorkerFile | None, metrics: Sequence[Metric], *, besides: Sequence[str] = ()
) -> tuple[str, ...]:
    """The limits of a worker file, as ``--limit`` has them, but for those of the same metrics.

    Raises ``UsageError``, asked or not.
    """
    if worker is None:
        return ()
    texts = [f"{name}:{value}" for name, value in worker.limits.items()]
    try:
        parse([f"{LIMIT}{one}" for one in texts], metrics)
    except UsageError as error:
        raise UsageError(f"--worker {str(worker.path)!r}, [limits]: {error}") from error
    given = {one.partition(":")[0] for one in besides}
    return tuple(one for one in texts if one.partition(":")[0] not in given)


def read_criteria(
    own: Sequence[str],
    most_rounds: int,
    *,
    defaults: bool,
    limits: Sequence[str] = (),
    metrics: Sequence[Metric] = METRICS,
) -> tuple[Criterion, ...]:
    """The defaults, if wanted, and what ``--fail-on`` and ``--limit`` name, of these metrics.

    Raises ``UsageError``: here, so that it costs no download.
    """
    texts = (*own, *(f"{LIMIT}{one}" for one in limits))
    found = (*(DEFAULTS if defaults else ()), *parse(texts, metrics))
    fewest = rule.LOOKS[1]
    if found and most_rounds < fewest:
        raise UsageError(
            f"--rounds {most_rounds}: must be at least {fewest}: with fewer the gate cannot decide "
            "about a single scenario."
        )
    return tuple(dict.fromkeys(found))


def last_look(most_rounds: int) -> int:
    """The rounds of the last look that so many allow: more would be measured and not looked at."""
    return rule.latest_look(most_rounds) or rule.LOOKS[0]


_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """A table ``[[accepted]]``."""

    criterion: _Text
    scenario: _Text
    reason: _Text
    until: date


class _AcceptedFile(msgspec.Struct, forbid_unknown_fields=True):
    accepted: list[_Entry] = []


def read_accepted(
    path: Path, today: date | None = None, *, metrics: Sequence[Metric] = METRICS
) -> tuple[Acceptance, ...]:
    """The entries of a file whose day has not passed.

    Raises ``UsageError`` with the entry and the key that is wrong.
    """
    names, given = {metric.name for metric in metrics}, f"--accepted {str(path)!r}"
    try:
        entries = msgspec.toml.decode(files.read(path, named=True), type=_AcceptedFile).accepted
        return tuple(
            Acceptance(
                criterion=one.criterion
                if one.criterion in names
                else str(*parse([one.criterion], metrics)),
                scenario=one.scenario,
                reason=" ".join(one.reason.split()),
                until=one.until.isoformat(),
            )
            for one in entries
            if one.until >= (today or date.today())
        )
    except OSError as error:
        raise UsageError(f"{given} cannot be read: {error.strerror}.") from error
    except (UsageError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{given}: {str(error).removeprefix('--fail-on ')}") from error
