"""Records made by hand, for tests of what reads, judges and draws them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from waitbench.model.metrics import BY_NAME
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.model.revision import BuildInfo, Origin, Revision
from waitbench.model.run import DISTURBED, FailedRun, Measurement
from waitbench.model.scenario import Scenario, Topology

Runs = Sequence[Mapping[str, float]]
AT = "2026-01-01T00:00:00+00:00"


def facts(**changes: Any) -> BuildInfo:
    """What is known of an environment that never was."""
    return replace(BuildInfo(python="3.10.1", package_version="0.0.1"), **changes)


def make_revision(label: str, **changes: Any) -> Revision:
    """A revision whose code differs from that of every other label."""
    known = facts(package_sha256=label, extensions={"x.so": label})
    made = Revision(label=label, text=label, engine="standin", origin=Origin.WHEEL, build=known)
    return replace(made, **changes)


def context(labels: Sequence[str], **changes: Any) -> ComparisonHeader:
    """The context of a comparison of these labels, the baseline first."""
    made = ComparisonHeader(
        revisions=tuple(map(make_revision, labels)),
        topology=Topology("single"), mixed_origins=False, hyperfine_version="1.20.0",
        machine={"kernel": "Linux"}, started_at=AT, argv=("compare",),
    )  # fmt: skip
    return replace(made, **changes)


def describing(
    records: Sequence[ScenarioResults], settings: Mapping[str, object] | None = None
) -> ComparisonHeader:
    """The comparison of these scenarios, as it is begun."""
    scenarios = tuple(record.spec for record in records)
    return replace(records[0].context, settings=settings or {}, scenarios=scenarios)


def specify(record: ScenarioResults, **changes: Any) -> ScenarioResults:
    """The same record, with changes of its scenario."""
    record.spec = replace(record.spec, **changes)
    return record


def make_record(
    runs: Mapping[str, Runs],
    *,
    scenario: str = "waiting",
    waits: bool = True,
    works: bool = False,
    **changes: Any,
) -> ScenarioResults:
    """A record with the given metrics: a list of runs for each label, values by key for each."""
    spec = Scenario(name=scenario, parameters={"partitions": 2}, waits=waits, works=works)
    record = ScenarioResults(spec=spec, context=context(list(runs), **changes))
    for position, (label, values) in enumerate(runs.items()):
        for number, metrics in enumerate(values, 1):
            record.add(measurement(label, number, metrics, position=position))
    return record


def released(
    costs: Mapping[str, float],
    *,
    session: str,
    rounds: int = 3,
    metrics: Sequence[str] = ("idle",),
    python: str = "3.12.7",
    compiler: str | None = None,
    **changes: Any,
) -> ScenarioResults:
    """A comparison of releases by what they cost; ``session`` tells when."""
    wobble = (1.0, 1.01, 0.99)
    runs = {
        label: [
            {BY_NAME[one].key: cost * wobble[(number + place) % 3] for one in metrics}
            for number in range(rounds)
        ]
        for place, (label, cost) in enumerate(costs.items())
    }
    known = {"python": python, "compiler": compiler}
    revisions = tuple(
        make_revision(label, build=facts(package_version=label.removeprefix("v"), **known))
        for label in costs
    )
    record = make_record(runs, revisions=revisions, **changes)
    # Equal runs at the same time would be copies of one session.
    record.measurements = [
        replace(run, started_at=f"{session}, {run.round}") for run in record.measurements
    ]
    return record


def measurement(
    label: str, number: int, metrics: Mapping[str, float], *, position: int = 0, **changes: Any
) -> Measurement:
    """A run of round ``number``."""
    return Measurement(
        label=label, round=number, position=position, started_at=AT, metrics=metrics, **changes
    )


def outcome(label: str, number: int, reason: str, *, message: str = "", log: str = "") -> FailedRun:
    """A run without a measurement."""
    return FailedRun(
        label=label, round=number, position=0, started_at=AT, reason=reason, message=message,
        log=log,
    )  # fmt: skip


def times(real: float, user: float, system: float) -> dict[str, float]:
    """The metrics of one run, in seconds."""
    return {
        "time_wall_clock": real,
        "time_user": user,
        "time_system": system,
        "time_cpu": user + system,
    }


def waits(idle_s: float, *, count: int = 4, **more: float) -> list[dict[str, float]]:
    """Runs whose CPU while they wait varies a little."""
    return [
        {**times(1, 1, 0.5), "time_cpu_idle": idle_s * (1 + i / 100), **more} for i in range(count)
    ]


def disturb(record: ScenarioResults, *rounds: int) -> ScenarioResults:
    """The same, with these rounds marked as disturbed in every attempt."""
    record.measurements = [
        replace(run, marks=(DISTURBED,)) if run.round in rounds else run
        for run in record.measurements
    ]
    return record
